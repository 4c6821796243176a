// Secrets from the operating system's random numbers, through OpenSSL.

#ifndef DTNN_COMM_SECRETS_CRYPTO_RANDOM_SECRET_H_
#define DTNN_COMM_SECRETS_CRYPTO_RANDOM_SECRET_H_

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/secrets/crypto/wiped.h"

namespace dtnn {

// For seeds and nonces that others may see.
absl::Status FillRandom(std::span<uint8_t> bytes);

// 32 bytes that nobody else knows, from the generator that OpenSSL keeps apart for those.
absl::StatusOr<Secret> RandomSecret();

}  // namespace dtnn

#endif  // DTNN_COMM_SECRETS_CRYPTO_RANDOM_SECRET_H_
