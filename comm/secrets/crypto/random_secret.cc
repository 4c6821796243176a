#include "comm/secrets/crypto/random_secret.h"

#include <openssl/rand.h>

#include "comm/secrets/crypto/openssl_error.h"

namespace dtnn {

absl::Status FillRandom(std::span<uint8_t> bytes) {
  if (RAND_bytes(bytes.data(), int(bytes.size())) != 1) return OpenSslError("give random bytes");
  return absl::OkStatus();
}

absl::StatusOr<Secret> RandomSecret() {
  Secret secret;
  if (RAND_priv_bytes(secret.bytes().data(), int(Secret::kSize)) != 1) {
    return OpenSslError("give random bytes for a secret");
  }
  return secret;
}

}  // namespace dtnn
