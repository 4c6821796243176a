// A GPU as a place to run, CUDA's or a simulated one: the device, one stream, and copies to and
// from ordinary memory.
//
// All work of the context is queued on its stream, in order. A copy to the host returns when the
// host has it, one from the host when it has been read. Errors of queued work show at the next call
// that meets them, at the latest in Synchronize; the device then answers nothing else in this
// process.

#ifndef DTNN_KERNELS_DEVICE_GPU_CONTEXT_H_
#define DTNN_KERNELS_DEVICE_GPU_CONTEXT_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/context.h"
#include "tensor/gpu/driver.h"
#include "tensor/gpu/staging.h"
#include "tensor/tensor.h"

namespace dtnn {

class GpuContext : public DeviceContext {
 public:
  // NotFound where the machine has no such GPU.
  static absl::StatusOr<std::unique_ptr<GpuContext>> Create(Device device);

  gpu::Stream& stream() const { return *stream_; }
  // The stream of copies between host and device that run beside the work of stream().
  gpu::Stream& copies() const { return staging_->stream(); }

  absl::Status Copy(const Tensor& from, const Tensor& to) override;
  absl::Status FillZero(const Tensor& tensor) override;
  absl::Status Synchronize() override;

 protected:
  explicit GpuContext(Device device) : DeviceContext(device) {}
  // Before anything else.
  absl::Status Start();

 private:
  std::unique_ptr<gpu::Stream> stream_;
  std::unique_ptr<gpu::Staging> staging_;
};

}  // namespace dtnn

#endif  // DTNN_KERNELS_DEVICE_GPU_CONTEXT_H_
