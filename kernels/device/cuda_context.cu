#include <string>

#include "absl/strings/str_cat.h"
#include "kernels/device/cuda_context.h"
#include "kernels/device/cuda_status.h"
#include "kernels/libraries/library_version.h"
#include "tensor/status_macros.h"

namespace dtnn {

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

namespace {

absl::Status CheckCublasVersion() {
  const auto part = [](libraryPropertyType type) {
    int value = 0;
    return cublasGetProperty(type, &value) == CUBLAS_STATUS_SUCCESS ? value : 0;
  };
  return CheckLibraryVersion("cuBLAS",
                             {part(MAJOR_VERSION), part(MINOR_VERSION), part(PATCH_LEVEL)},
                             {CUBLAS_VER_MAJOR, CUBLAS_VER_MINOR, CUBLAS_VER_PATCH});
}

}  // namespace

absl::StatusOr<std::unique_ptr<CudaContext>> CudaContext::Create(Device device) {
  std::unique_ptr<CudaContext> context(new CudaContext(device));
  DTNN_RETURN_IF_ERROR(context->Start());
  DTNN_RETURN_IF_ERROR(context->MakeCurrent());
  DTNN_RETURN_IF_ERROR(CheckCublasVersion());
  DTNN_RETURN_IF_ERROR(CublasStatus("starting cuBLAS", cublasCreate(&context->blas_)));
  DTNN_RETURN_IF_ERROR(CublasStatus(
      "giving cuBLAS a stream",
      cublasSetStream(context->blas_, static_cast<cudaStream_t>(context->stream().native()))));
  // At least the precision of the operands, and sums of 16 bits in float32: what a product may do
  // beyond that, its call says.
  DTNN_RETURN_IF_ERROR(CublasStatus(
      "setting cuBLAS' precision",
      cublasSetMathMode(
          context->blas_,
          cublasMath_t(CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION))));
  return context;
}

CudaContext::~CudaContext() {
  (void)MakeCurrent();
  dnn_.reset();
  if (blas_ != nullptr) cublasDestroy(blas_);
}

absl::Status CudaContext::MakeCurrent() const {
  return CudaStatus("selecting " + device().ToString(), cudaSetDevice(device().index));
}

}  // namespace dtnn
