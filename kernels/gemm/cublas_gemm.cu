#include "kernels/cuda_context.h"
#include "kernels/cuda_status.h"
#include "kernels/gemm/gemm_gpu.h"

namespace dtnn {
namespace {

// Sums are float32 or float64; float32 is multiplied in full, without TF32, unless the spec allows
// it.
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
        "gemm", cublasGemmEx_64(context_->blas(), Op(transpose_a), Op(transpose_b), m, n, k, &alpha,
                                a, TypeOf(T{}), lda, b, TypeOf(T{}), ldb, &beta, c, TypeOf(R{}),
                                ldc, ComputeTypeOf(alpha, tf32), CUBLAS_GEMM_DEFAULT));
  }

 private:
  static cublasOperation_t Op(bool transpose) { return transpose ? CUBLAS_OP_T : CUBLAS_OP_N; }
  static cudaDataType_t TypeOf(float) { return CUDA_R_32F; }
  static cudaDataType_t TypeOf(double) { return CUDA_R_64F; }
  static cudaDataType_t TypeOf(Float16) { return CUDA_R_16F; }
  static cudaDataType_t TypeOf(Bfloat16) { return CUDA_R_16BF; }
  static cublasComputeType_t ComputeTypeOf(double, bool) { return CUBLAS_COMPUTE_64F; }
  static cublasComputeType_t ComputeTypeOf(float, bool tf32) {
    return tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  }

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
