// SHA-256, HMAC-SHA-256 (RFC 2104) and HKDF-SHA-256 (RFC 5869), from OpenSSL.

#ifndef DTNN_COMM_SECRETS_CRYPTO_HASH_H_
#define DTNN_COMM_SECRETS_CRYPTO_HASH_H_

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "comm/secrets/crypto/wiped.h"

namespace dtnn {

using Hash = std::array<uint8_t, 32>;

// The hash of the pieces one after another. Pieces of variable length need their lengths among
// them.
absl::StatusOr<Hash> Sha256(std::initializer_list<std::span<const uint8_t>> pieces);

// By which those who know `key`, of any length, recognise the pieces one after another; as above.
absl::StatusOr<Hash> Hmac(std::span<const uint8_t> key,
                          std::initializer_list<std::span<const uint8_t>> pieces);

// Keys for several purposes from one secret: those of different `purpose` or `context` say nothing
// about each other or about the secret.
absl::StatusOr<Secret> DeriveSecret(const Secret& secret, std::string_view purpose,
                                    std::span<const uint8_t> context = {});

inline std::span<const uint8_t> AsBytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

}  // namespace dtnn

#endif  // DTNN_COMM_SECRETS_CRYPTO_HASH_H_
