// What the host brings again and again to one place in a GPU's memory: the batches of training. The
// next one crosses while the GPU still computes with the last.
//
// The host writes a pinned buffer, a stream of copies moves it to device memory of this object's
// own, and from there `user` takes it in stream order. So the place, whose address a captured graph
// keeps, changes only between what `user` was given before and after, and the slow way across is
// not on `user`'s. The host waits only for a pinned buffer that was filled two calls before.

#ifndef DTNN_TENSOR_GPU_ARRIVALS_H_
#define DTNN_TENSOR_GPU_ARRIVALS_H_

#include <array>
#include <cstddef>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensor/gpu/driver.h"

namespace dtnn::gpu {

class Arrivals {
 public:
  // For up to `bytes` bytes; `copies` is another stream of the same GPU, which may have other work.
  static absl::StatusOr<std::unique_ptr<Arrivals>> Create(Stream& copies, size_t bytes);
  ~Arrivals();
  Arrivals(const Arrivals&) = delete;
  Arrivals& operator=(const Arrivals&) = delete;

  // Returns once `from` has been read. Not in a capture.
  absl::Status Put(Stream& user, void* to, const void* from, size_t bytes);

 private:
  struct Pinned {
    std::byte* memory = nullptr;
    std::unique_ptr<Event> crossed;
    bool used = false;
  };

  Arrivals(Stream& copies, size_t bytes) : copies_(copies), bytes_(bytes) {}

  Stream& copies_;
  const size_t bytes_;
  std::array<Pinned, 2> pinned_;
  size_t next_ = 0;
  std::byte* arrived_ = nullptr;  // device memory
  std::unique_ptr<Event> taken_;  // by the user
  bool used_ = false;
};

}  // namespace dtnn::gpu

#endif  // DTNN_TENSOR_GPU_ARRIVALS_H_
