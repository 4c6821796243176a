// Signatures that one party alone can make and all can check (Ed25519, RFC 8032), from OpenSSL.

#ifndef DTNN_COMM_SECRETS_CRYPTO_ED25519_H_
#define DTNN_COMM_SECRETS_CRYPTO_ED25519_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/secrets/crypto/wiped.h"

namespace dtnn {

using Ed25519PublicKey = std::array<uint8_t, 32>;
using Ed25519Signature = std::array<uint8_t, 64>;

// Any 32 bytes are a private key; RandomSecret gives new ones.
absl::StatusOr<Ed25519PublicKey> Ed25519PublicKeyOf(const Secret& private_key);

absl::StatusOr<Ed25519Signature> Ed25519Sign(const Secret& private_key,
                                             std::span<const uint8_t> message);
// Whether the owner of the key has signed that. For keys that CheckEd25519PublicKey accepts.
absl::StatusOr<bool> Ed25519Verifies(const Ed25519PublicKey& key, std::span<const uint8_t> message,
                                     const Ed25519Signature& signature);

// InvalidArgument for 32 bytes that are not the one encoding of a point of the curve, and for
// points of small order, with which anybody can sign. They may be public: the time depends on them.
absl::Status CheckEd25519PublicKey(const Ed25519PublicKey& key);

// As people write it: base64, 44 characters.
std::string ToText(const Ed25519PublicKey& key);
// InvalidArgument for other text, and as CheckEd25519PublicKey.
absl::StatusOr<Ed25519PublicKey> Ed25519PublicKeyFromText(std::string_view text);

}  // namespace dtnn

#endif  // DTNN_COMM_SECRETS_CRYPTO_ED25519_H_
