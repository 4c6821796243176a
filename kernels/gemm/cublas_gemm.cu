#include "kernels/cuda_context.h"
#include "kernels/cuda_status.h"
#include "kernels/gemm/gemm_gpu.h"

namespace dtnn {
namespace {

// float32 is computed in full precision, without TF32.
class Cublas : public GpuRunner {
 public:
  static constexpr std::string_view kName = "cublas";

  explicit Cublas(CudaContext& context) : GpuRunner(context), context_(&context) {}

  absl::Status Multiply(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
                        const float* a, int64_t lda, const float* b, int64_t ldb, float beta,
                        float* c, int64_t ldc) const {
    const float alpha = 1;
    DTNN_RETURN_IF_ERROR(context_->MakeCurrent());
    return CublasStatus("gemm", cublasSgemm_64(context_->blas(), Op(transpose_a), Op(transpose_b),
                                               m, n, k, &alpha, a, lda, b, ldb, &beta, c, ldc));
  }
  absl::Status Multiply(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
                        const double* a, int64_t lda, const double* b, int64_t ldb, double beta,
                        double* c, int64_t ldc) const {
    const double alpha = 1;
    DTNN_RETURN_IF_ERROR(context_->MakeCurrent());
    return CublasStatus("gemm", cublasDgemm_64(context_->blas(), Op(transpose_a), Op(transpose_b),
                                               m, n, k, &alpha, a, lda, b, ldb, &beta, c, ldc));
  }

 private:
  static cublasOperation_t Op(bool transpose) { return transpose ? CUBLAS_OP_T : CUBLAS_OP_N; }

  CudaContext* context_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Gemm>> CreateCublasGemm(DeviceContext& context,
                                                       const GemmSpec& spec) {
  if (context.device().type != DeviceType::kCuda) {
    return absl::InvalidArgumentError("cublas runs on NVIDIA's GPUs, not on " +
                                      context.device().ToString());
  }
  return std::make_unique<GemmGpu<Cublas>>(Cublas(static_cast<CudaContext&>(context)), spec);
}

}  // namespace dtnn
