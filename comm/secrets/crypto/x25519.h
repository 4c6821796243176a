// Two parties that know each other's public key agree on a secret (X25519, RFC 7748), from OpenSSL.

#ifndef DTNN_COMM_SECRETS_CRYPTO_X25519_H_
#define DTNN_COMM_SECRETS_CRYPTO_X25519_H_

#include <array>
#include <cstdint>

#include "absl/status/statusor.h"
#include "comm/secrets/crypto/wiped.h"

namespace dtnn {

using X25519PublicKey = std::array<uint8_t, 32>;

// Any 32 bytes are a private key; RandomSecret gives new ones.
absl::StatusOr<X25519PublicKey> X25519PublicKeyOf(const Secret& private_key);

// The same for (mine, yours) and (yours, mine). Not uniform: pass it through DeriveSecret. A public
// key of small order, with which everybody would agree on zeros, is refused.
absl::StatusOr<Secret> X25519Agree(const Secret& private_key, const X25519PublicKey& peer);

}  // namespace dtnn

#endif  // DTNN_COMM_SECRETS_CRYPTO_X25519_H_
