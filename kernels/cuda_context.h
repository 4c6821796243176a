// A GPU as a place to run: the device, one stream, and a cuBLAS handle on that stream. Only with
// --config=cuda.
//
// All work of the context is queued on its stream, in order. Errors of the CUDA runtime become a
// Status with CUDA's own words; errors of a running kernel show at the next Synchronize. After such
// an error the device answers nothing else in this process.

#ifndef DTNN_KERNELS_CUDA_CONTEXT_H_
#define DTNN_KERNELS_CUDA_CONTEXT_H_

#include <initializer_list>
#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/context.h"
#include "tensor/tensor.h"

// cudaStream_t and cublasHandle_t point to these: only .cu files need the toolkit's headers.
struct CUstream_st;
struct cublasContext;

namespace dtnn {

class CudaContext : public DeviceContext {
 public:
  // NotFound where the machine has no such GPU, or none at all.
  static absl::StatusOr<std::unique_ptr<CudaContext>> Create(Device device);
  ~CudaContext() override;

  CUstream_st* stream() const { return stream_; }
  cublasContext* blas() const { return blas_; }

  absl::Status Copy(const Tensor& from, const Tensor& to) override;
  absl::Status FillZero(const Tensor& tensor) override;
  absl::Status Synchronize() override;

  // Makes this GPU the calling thread's current one: before every launch.
  absl::Status MakeCurrent() const;
  // InvalidArgument, naming the operation, unless the memory of all tensors lies on this GPU; empty
  // ones are ignored.
  absl::Status CheckOnDevice(std::string_view operation,
                             std::initializer_list<const Tensor*> tensors) const;

 private:
  explicit CudaContext(Device device) : DeviceContext(device) {}

  CUstream_st* stream_ = nullptr;
  cublasContext* blas_ = nullptr;
};

}  // namespace dtnn

#endif  // DTNN_KERNELS_CUDA_CONTEXT_H_
