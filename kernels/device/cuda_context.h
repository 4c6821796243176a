// The context of one of NVIDIA's GPUs: a GpuContext with the handles of libraries on its stream.
// Only with --config=cuda.

#ifndef DTNN_KERNELS_DEVICE_CUDA_CONTEXT_H_
#define DTNN_KERNELS_DEVICE_CUDA_CONTEXT_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/gpu_context.h"

// cublasHandle_t points to it: only .cu files need the toolkit's headers.
struct cublasContext;

namespace dtnn {

class CudaContext : public GpuContext {
 public:
  // NotFound where the machine has no such GPU, or none at all.
  static absl::StatusOr<std::unique_ptr<CudaContext>> Create(Device device);
  ~CudaContext() override;

  cublasContext* blas() const { return blas_; }
  // What the users of cuDNN keep for this context: its handle, made by the first of them.
  std::shared_ptr<void>& dnn() { return dnn_; }

  // Makes this GPU the calling thread's current one: before every call of a library.
  absl::Status MakeCurrent() const;

 private:
  explicit CudaContext(Device device) : GpuContext(device) {}

  cublasContext* blas_ = nullptr;
  std::shared_ptr<void> dnn_;
};

}  // namespace dtnn

#endif  // DTNN_KERNELS_DEVICE_CUDA_CONTEXT_H_
