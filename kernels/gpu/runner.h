// Work on a GPU as a function of an index, which a simulated GPU runs too.
//
// A *body* is a small struct with `DTNN_HOST_DEVICE void operator()(int64_t i) const`; a *row body*
// gets a row and the warp that shares it: lane(), size(), Sum, Max, Sync. Both say in
// `Declare(int64_t n, gpu::Accesses&)` what they touch for n elements or rows
// (tensor/gpu/launch.h). Passes over activations take vectors of 16 bytes, with bodies of
// tensor/gpu/vectors.h and tensor/gpu/reduce_channels.h. Nothing is added in the order in which
// threads come, hence results are reproducible bit for bit.

#ifndef DTNN_KERNELS_GPU_RUNNER_H_
#define DTNN_KERNELS_GPU_RUNNER_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/gpu_context.h"
#include "tensor/device.h"
#include "tensor/gpu/launch.h"
#include "tensor/gpu/reduce_channels.h"
#include "tensor/gpu/vectors.h"
#include "tensor/status_macros.h"
#include "tensor/tensor.h"

namespace dtnn {
inline namespace DTNN_GPU_COMPILER {

// Queues bodies on a context's stream.
class GpuRunner {
 public:
  // The device is not the CPU.
  explicit GpuRunner(DeviceContext& context) : context_(&static_cast<GpuContext&>(context)) {}

  Device device() const { return context_->device(); }
  GpuContext& context() const { return *context_; }
  template <class Body>
  absl::Status ForEach(std::string_view what, int64_t n, const Body& body) const {
    return gpu::ForEach(context_->stream(), what, n, body);
  }
  template <class Body>
  absl::Status ForEachRow(std::string_view what, int64_t rows, const Body& body) const {
    return gpu::ForEachRow(context_->stream(), what, rows, body);
  }
  template <class Body>
  absl::Status ForEachVector(std::string_view what, const gpu::VectorExtents& extents,
                             const Body& body) const {
    return gpu::ForEachVector(context_->stream(), what, extents, body);
  }
  template <class Body, class Finish>
  absl::Status ReduceChannels(std::string_view what, const gpu::VectorExtents& extents,
                              const Body& body, double* scratch, const Tensor& arrived,
                              const Finish& finish) const {
    return gpu::ReduceChannels(context_->stream(), what, extents, body, scratch,
                               reinterpret_cast<uint32_t*>(arrived.data<int32_t>()), finish);
  }
  // Counters of a caller's reductions, one after the other.
  absl::StatusOr<Tensor> MakeArrived() const {
    DTNN_ASSIGN_OR_RETURN(Tensor arrived, Tensor::Allocate(device(), DType::kInt32,
                                                           Shape{gpu::ReducedParts::kMostArrived}));
    DTNN_RETURN_IF_ERROR(context_->FillZero(arrived));
    return arrived;
  }

 private:
  GpuContext* context_;
};

}  // namespace DTNN_GPU_COMPILER
}  // namespace dtnn

#endif  // DTNN_KERNELS_GPU_RUNNER_H_
