#include "kernels/device/cuda_context.h"
#include "kernels/device/cuda_status.h"
#include "kernels/gemm/column_sums.h"
#include "kernels/gemm/cublas_types.h"
#include "kernels/gemm/gemm_gpu.h"

namespace dtnn {
namespace {

class Cublas : public GpuRunner {
 public:
  static constexpr std::string_view kName = "cublas";

  explicit Cublas(CudaContext& context) : GpuRunner(context), context_(&context) {}

  template <typename T, typename R>
  absl::Status Multiply(bool tf32, bool transpose_a, bool transpose_b, int64_t m, int64_t n,
                        int64_t k, const T* a, int64_t lda, const T* b, int64_t ldb, Wide<R> beta,
                        R* c, int64_t ldc) const {
    const Wide<R> alpha = 1;
    DTNN_RETURN_IF_ERROR(context_->MakeCurrent());
    return CublasStatus(
        "gemm", cublasGemmEx_64(context_->blas(), CublasOperationOf(transpose_a),
                                CublasOperationOf(transpose_b), m, n, k, &alpha, a,
                                CublasTypeOf(DTypeOf<T>()), lda, b, CublasTypeOf(DTypeOf<T>()), ldb,
                                &beta, c, CublasTypeOf(DTypeOf<R>()), ldc,
                                CublasComputeTypeOf(DTypeOf<T>(), tf32), CUBLAS_GEMM_DEFAULT));
  }

 private:
  CudaContext* context_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Gemm>> CreateCublasGemm(DeviceContext& context,
                                                       const GemmSpec& spec) {
  if (context.device().type != DeviceType::kCuda) {
    return absl::InvalidArgumentError("cublas runs on NVIDIA's GPUs, not on " +
                                      context.device().ToString());
  }
  return WithColumnSums(
      context, spec,
      std::make_unique<GemmGpu<Cublas>>(Cublas(static_cast<CudaContext&>(context)), spec));
}

}  // namespace dtnn
