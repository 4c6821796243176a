// Memory for secrets: overwritten before it is given back, also when a vector grows or an error
// leaves a function early. What the compiler keeps in registers or spills to the stack is beyond
// it.
//
// A secret has no way to be printed; do not add one.

#ifndef DTNN_COMM_SECRETS_CRYPTO_WIPED_H_
#define DTNN_COMM_SECRETS_CRYPTO_WIPED_H_

#include <openssl/crypto.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace dtnn {

template <typename T>
struct WipingAllocator {
  using value_type = T;

  WipingAllocator() = default;
  template <typename U>
  WipingAllocator(const WipingAllocator<U>&) {}

  T* allocate(size_t count) { return std::allocator<T>().allocate(count); }
  void deallocate(T* memory, size_t count) {
    OPENSSL_cleanse(memory, count * sizeof(T));
    std::allocator<T>().deallocate(memory, count);
  }
  template <typename U>
  bool operator==(const WipingAllocator<U>&) const {
    return true;
  }
};

template <typename T>
using WipedVector = std::vector<T, WipingAllocator<T>>;

// 32 secret bytes: a seed, a key of ChaCha20 or HMAC, a private key of X25519.
class Secret {
 public:
  static constexpr size_t kSize = 32;

  Secret() = default;  // zeros, to be filled
  explicit Secret(std::span<const uint8_t, kSize> bytes) {
    std::copy(bytes.begin(), bytes.end(), bytes_.begin());
  }
  Secret(const Secret&) = default;
  Secret& operator=(const Secret&) = default;
  ~Secret() { OPENSSL_cleanse(bytes_.data(), kSize); }

  std::span<const uint8_t, kSize> bytes() const { return bytes_; }
  std::span<uint8_t, kSize> bytes() { return bytes_; }

  // In time that does not depend on the bytes.
  bool Equals(const Secret& other) const {
    return CRYPTO_memcmp(bytes_.data(), other.bytes_.data(), kSize) == 0;
  }

 private:
  std::array<uint8_t, kSize> bytes_{};
};

}  // namespace dtnn

#endif  // DTNN_COMM_SECRETS_CRYPTO_WIPED_H_
