#include "kernels/gemm/cublas_gemm.h"

namespace dtnn {
namespace {

class Cublas : public GpuRunner {
 public:
  using GpuRunner::GpuRunner;

  absl::Status Multiply(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
                        const float* a, int64_t lda, const float* b, int64_t ldb, float beta,
                        float* c, int64_t ldc) const {
    const float alpha = 1;
    DTNN_RETURN_IF_ERROR(context().MakeCurrent());
    return CublasStatus("gemm", cublasSgemm_64(context().blas(), Op(transpose_a), Op(transpose_b),
                                               m, n, k, &alpha, a, lda, b, ldb, &beta, c, ldc));
  }
  absl::Status Multiply(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
                        const double* a, int64_t lda, const double* b, int64_t ldb, double beta,
                        double* c, int64_t ldc) const {
    const double alpha = 1;
    DTNN_RETURN_IF_ERROR(context().MakeCurrent());
    return CublasStatus("gemm", cublasDgemm_64(context().blas(), Op(transpose_a), Op(transpose_b),
                                               m, n, k, &alpha, a, lda, b, ldb, &beta, c, ldc));
  }

 private:
  static cublasOperation_t Op(bool transpose) { return transpose ? CUBLAS_OP_T : CUBLAS_OP_N; }
};

}  // namespace

absl::StatusOr<std::unique_ptr<Gemm>> CreateCublasGemm(DeviceContext& context,
                                                       const GemmSpec& spec) {
  if (context.device().is_cpu())
    return absl::InvalidArgumentError("cublas runs on a GPU, not on cpu");
  return std::make_unique<CublasGemm<Cublas>>(Cublas(static_cast<CudaContext&>(context)), spec);
}

}  // namespace dtnn
