#include "comm/secrets/crypto/chacha20_stream.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "comm/secrets/crypto/openssl_error.h"
#include "comm/secrets/crypto/random_secret.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

// OpenSSL counts bytes in an int.
constexpr size_t kPiece = size_t{1} << 20;

}  // namespace

absl::StatusOr<ChaCha20Stream> ChaCha20Stream::Create(std::span<const uint8_t, Secret::kSize> seed,
                                                      uint64_t stream) {
  // A counter of blocks of 64 bits, then the number of the stream; both little endian.
  uint8_t start[16] = {};
  for (int i = 0; i < 8; ++i) start[8 + i] = uint8_t(stream >> (8 * i));
  Context context(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  if (context == nullptr ||
      EVP_EncryptInit_ex(context.get(), EVP_chacha20(), nullptr, seed.data(), start) != 1) {
    return OpenSslError("start ChaCha20");
  }
  return ChaCha20Stream(std::move(context));
}

absl::StatusOr<ChaCha20Stream> ChaCha20Stream::Random() {
  DTNN_ASSIGN_OR_RETURN(const Secret seed, RandomSecret());
  return Create(seed.bytes());
}

void ChaCha20Stream::Fill(std::span<uint8_t> bytes) {
  while (!bytes.empty()) {
    const std::span<uint8_t> piece = bytes.first(std::min(kPiece, bytes.size()));
    std::memset(piece.data(), 0, piece.size());
    int written = 0;
    if (EVP_EncryptUpdate(context_.get(), piece.data(), &written, piece.data(),
                          int(piece.size())) != 1 ||
        size_t(written) != piece.size()) {
      std::fprintf(stderr, "OpenSSL stopped giving the bytes of a ChaCha20 stream\n");
      std::abort();
    }
    bytes = bytes.subspan(piece.size());
  }
}

}  // namespace dtnn
