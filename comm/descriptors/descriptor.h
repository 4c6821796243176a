// Owner of a file descriptor, which it closes.

#ifndef DTNN_COMM_DESCRIPTORS_DESCRIPTOR_H_
#define DTNN_COMM_DESCRIPTORS_DESCRIPTOR_H_

#include <unistd.h>

#include <utility>

namespace dtnn {

class Descriptor {
 public:
  explicit Descriptor(int descriptor = -1) : descriptor_(descriptor) {}
  Descriptor(Descriptor&& other) noexcept : descriptor_(other.Release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Descriptor() {
    if (descriptor_ >= 0) close(descriptor_);
  }

  int descriptor() const { return descriptor_; }
  // Leaves it open, and to the caller.
  int Release() { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_;
};

}  // namespace dtnn

#endif  // DTNN_COMM_DESCRIPTORS_DESCRIPTOR_H_
