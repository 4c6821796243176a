// A stream of random bytes that is a function of 32 bytes and a number: ChaCha20 (RFC 8439) of
// zeros. From a secret the bytes look random; from a public seed everybody gets
// the same ones, which is how half of a ciphertext travels as 32 bytes.
//
// About 2 GB/s and core with AVX-512. One thread at a time.

#ifndef DTNN_COMM_SECRETS_CRYPTO_CHACHA20_STREAM_H_
#define DTNN_COMM_SECRETS_CRYPTO_CHACHA20_STREAM_H_

#include <openssl/evp.h>

#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "comm/secrets/crypto/wiped.h"

namespace dtnn {

class ChaCha20Stream {
 public:
  // Streams of one seed with different numbers have nothing in common.
  static absl::StatusOr<ChaCha20Stream> Create(std::span<const uint8_t, Secret::kSize> seed,
                                               uint64_t stream = 0);
  // From a new secret, which nobody keeps.
  static absl::StatusOr<ChaCha20Stream> Random();

  // The next bytes. Ends the process should OpenSSL fail, rather than give bytes that are not
  // random.
  void Fill(std::span<uint8_t> bytes);
  template <typename T>
  void FillWords(std::span<T> words) {
    Fill({reinterpret_cast<uint8_t*>(words.data()), words.size_bytes()});
  }

 private:
  using Context = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;
  explicit ChaCha20Stream(Context context) : context_(std::move(context)) {}

  Context context_;
};

}  // namespace dtnn

#endif  // DTNN_COMM_SECRETS_CRYPTO_CHACHA20_STREAM_H_
