// Messages that only holders of a key can read, or at least only they can make: ChaCha20-Poly1305
// (RFC 8439) from OpenSSL, with a key of its own per message, so that no nonce is ever used twice
// with one key, however many messages there are.

#ifndef DTNN_COMM_SECRETS_CRYPTO_SEALED_MESSAGE_H_
#define DTNN_COMM_SECRETS_CRYPTO_SEALED_MESSAGE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/secrets/crypto/wiped.h"

namespace dtnn {

// Bytes that Seal adds to a message: a random number and the tag.
constexpr size_t kSealBytes = 16 + 16;

// Encrypts `message`. `bound` is not part of the result, but Open must be given the same: its
// sender and receiver, and the round.
absl::StatusOr<std::vector<uint8_t>> Seal(const Secret& key, std::span<const uint8_t> bound,
                                          std::span<const uint8_t> message);

// Unauthenticated unless made by Seal with the same key and `bound`.
absl::StatusOr<WipedVector<uint8_t>> Open(const Secret& key, std::span<const uint8_t> bound,
                                          std::span<const uint8_t> sealed);

// For messages that need not be secret: a tag of kSealBytes over `header`, then `body`. About
// 2 GB/s; HMAC-SHA-256 has a fifth of that. `header` must say how long it is, or always be as long.
absl::StatusOr<std::vector<uint8_t>> MakeTag(const Secret& key, std::span<const uint8_t> header,
                                             std::span<const uint8_t> body);

// Unauthenticated unless `tag` was made from the same.
absl::Status CheckTag(const Secret& key, std::span<const uint8_t> header,
                      std::span<const uint8_t> body, std::span<const uint8_t> tag);

}  // namespace dtnn

#endif  // DTNN_COMM_SECRETS_CRYPTO_SEALED_MESSAGE_H_
