// Copies between a GPU and ordinary memory of the host, through a ring of pinned buffers and on a
// stream of its own, so that they run while the GPU computes.
//
//   staging.Upload(compute, device, source, bytes)   returns once `source` has been read
//   staging.Download(compute, target, device, bytes) returns once `target` has been written
//
// An upload waits on the GPU for what `user` was given before, and what `user` is given later waits
// for the upload. The host waits only for a buffer that is still being copied from.

#ifndef DTNN_TENSOR_GPU_STAGING_H_
#define DTNN_TENSOR_GPU_STAGING_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensor/gpu/driver.h"

namespace dtnn::gpu {

class Staging {
 public:
  // `buffers` of `bytes` each; what is larger goes in pieces.
  static absl::StatusOr<std::unique_ptr<Staging>> Create(Gpu& gpu, size_t bytes = 1 << 20,
                                                         int buffers = 4);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // Where the copies run: not on the stream that computes.
  Stream& stream() const { return *stream_; }

  absl::Status Upload(Stream& user, void* to, const void* from, size_t bytes);
  absl::Status Download(Stream& user, void* to, const void* from, size_t bytes);

 private:
  struct Buffer {
    std::byte* memory = nullptr;
    std::unique_ptr<Event> copied;  // after the last copy from or to it
    bool used = false;
  };

  Staging(Gpu& gpu, size_t bytes) : gpu_(gpu), bytes_(bytes) {}

  // The next buffer, that nobody reads or writes any more.
  absl::StatusOr<Buffer*> Next();
  // What comes on `second` from now on is after what `first` has been given.
  absl::Status Order(Stream& first, Stream& second);

  Gpu& gpu_;
  const size_t bytes_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Event> order_;
  std::vector<Buffer> buffers_;
  size_t next_ = 0;
};

}  // namespace dtnn::gpu

#endif  // DTNN_TENSOR_GPU_STAGING_H_
