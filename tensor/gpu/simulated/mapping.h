// Memory that is seen differently from different sides: the same pages at three addresses, one for
// the host, one for a simulated GPU that may read them, one for a GPU that may write them.
//
// Only the host's address is ever handed out, and the host's access there can be taken away, while
// work of the GPU, in other threads of the same process, continues through the other two. Every
// view ends where the memory ends (to 256 bytes), and pages without access lie between the views.

#ifndef DTNN_TENSOR_GPU_SIMULATED_MAPPING_H_
#define DTNN_TENSOR_GPU_SIMULATED_MAPPING_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "tensor/gpu/kernel.h"

namespace dtnn::gpu {

enum class HostAccess : uint8_t { kNone, kRead, kWrite };

class Mapping {
 public:
  // ResourceExhausted where the system has no memory left. The host may write.
  static absl::StatusOr<std::unique_ptr<Mapping>> Create(size_t bytes);
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  std::byte* host() const { return host_; }
  size_t bytes() const { return bytes_; }
  // From an address of the host's view to the same byte of a GPU's.
  std::ptrdiff_t Distance(AccessMode mode) const {
    return std::ptrdiff_t(stride_) * (mode == AccessMode::kRead ? 1 : 2);
  }
  // What the host may do with the pages that bytes [begin, end) fill, or fill to the end.
  void SetHostAccess(size_t begin, size_t end, HostAccess access);
  void SetHostAccess(HostAccess access) { SetHostAccess(0, bytes_, access); }

  // All addresses of the three views and the pages around them.
  const std::byte* region() const { return region_; }
  size_t region_bytes() const { return region_bytes_; }
  // The distance of an address in the region from the first byte of its view.
  std::ptrdiff_t OffsetOf(const void* address) const;

 private:
  Mapping() = default;

  std::byte* region_ = nullptr;
  size_t region_bytes_ = 0;
  std::byte* host_ = nullptr;
  size_t bytes_ = 0;
  size_t stride_ = 0;  // from a view to the next
};

}  // namespace dtnn::gpu

#endif  // DTNN_TENSOR_GPU_SIMULATED_MAPPING_H_
