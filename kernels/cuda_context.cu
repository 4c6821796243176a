#include <string>

#include "absl/strings/str_cat.h"
#include "kernels/cuda_context.h"
#include "kernels/cuda_status.h"
#include "tensor/cuda_memory.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

size_t Bytes(const Tensor& tensor) {
  return size_t(tensor.num_elements()) * SizeOf(tensor.dtype());
}

absl::Status CheckDense(const Tensor& tensor) {
  if (!tensor.empty() && tensor.dense()) return absl::OkStatus();
  return absl::InvalidArgumentError("copying to, from or on a GPU takes dense tensors");
}

}  // namespace

absl::Status CudaStatus(std::string_view what, cudaError_t error) {
  if (error == cudaSuccess) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(std::string(what), ": ", cudaGetErrorString(error), " (",
                                          cudaGetErrorName(error), ")"));
}

absl::Status CublasStatus(std::string_view what, cublasStatus_t error) {
  if (error == CUBLAS_STATUS_SUCCESS) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat(std::string(what), ": cuBLAS says ", cublasGetStatusName(error)));
}

absl::StatusOr<std::unique_ptr<CudaContext>> CudaContext::Create(Device device) {
  const int count = cuda::DeviceCount();
  if (count == 0) {
    return absl::NotFoundError(
        absl::StrCat("no GPU found for ", device.ToString(),
                     ": this machine has none, or its driver is missing or too old for CUDA ",
                     CUDART_VERSION / 1000, ".", CUDART_VERSION % 1000 / 10));
  }
  if (device.index < 0 || device.index >= count) {
    return absl::NotFoundError(absl::StrCat(device.ToString(), " is not there: this machine has ",
                                            count, " GPU", count > 1 ? "s" : "", ", the last is ",
                                            Device::Cuda(count - 1).ToString()));
  }
  std::unique_ptr<CudaContext> context(new CudaContext(device));
  DTNN_RETURN_IF_ERROR(context->MakeCurrent());
  DTNN_RETURN_IF_ERROR(CudaStatus(
      "creating a stream", cudaStreamCreateWithFlags(&context->stream_, cudaStreamNonBlocking)));
  DTNN_RETURN_IF_ERROR(CublasStatus("starting cuBLAS", cublasCreate(&context->blas_)));
  DTNN_RETURN_IF_ERROR(
      CublasStatus("giving cuBLAS a stream", cublasSetStream(context->blas_, context->stream_)));
  // At least the precision of the operands: no TF32 for float32.
  DTNN_RETURN_IF_ERROR(CublasStatus("setting cuBLAS' precision",
                                    cublasSetMathMode(context->blas_, CUBLAS_DEFAULT_MATH)));
  return context;
}

CudaContext::~CudaContext() {
  (void)cudaSetDevice(device().index);
  if (blas_ != nullptr) cublasDestroy(blas_);
  if (stream_ != nullptr) {
    (void)cudaStreamSynchronize(stream_);
    (void)cudaStreamDestroy(stream_);
  }
}

absl::Status CudaContext::MakeCurrent() const {
  return CudaStatus("selecting " + device().ToString(), cudaSetDevice(device().index));
}

absl::Status CudaContext::Copy(const Tensor& from, const Tensor& to) {
  DTNN_RETURN_IF_ERROR(CheckDense(from));
  DTNN_RETURN_IF_ERROR(CheckDense(to));
  if (Bytes(from) != Bytes(to)) {
    return absl::InvalidArgumentError(
        absl::StrCat("copying ", Bytes(from), " bytes to a tensor of ", Bytes(to)));
  }
  DTNN_RETURN_IF_ERROR(MakeCurrent());
  return CudaStatus("copying a tensor", cudaMemcpyAsync(to.raw_data(), from.raw_data(), Bytes(from),
                                                        cudaMemcpyDefault, stream_));
}

absl::Status CudaContext::FillZero(const Tensor& tensor) {
  DTNN_RETURN_IF_ERROR(CheckDense(tensor));
  DTNN_RETURN_IF_ERROR(CheckOnDevice("zeroing a tensor", {&tensor}));
  DTNN_RETURN_IF_ERROR(MakeCurrent());
  return CudaStatus("zeroing a tensor",
                    cudaMemsetAsync(tensor.raw_data(), 0, Bytes(tensor), stream_));
}

absl::Status CudaContext::Synchronize() {
  DTNN_RETURN_IF_ERROR(MakeCurrent());
  return CudaStatus("waiting for " + device().ToString(), cudaStreamSynchronize(stream_));
}

absl::Status CudaContext::CheckOnDevice(std::string_view operation,
                                        std::initializer_list<const Tensor*> tensors) const {
  for (const Tensor* tensor : tensors) {
    if (tensor->empty() || tensor->device() == device()) continue;
    return absl::InvalidArgumentError(absl::StrCat(std::string(operation), ": an operand lies on ",
                                                   tensor->device().ToString(), ", expected ",
                                                   device().ToString()));
  }
  return absl::OkStatus();
}

}  // namespace dtnn
