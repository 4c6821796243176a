// The product without a library: a thread for each element of C. For simulated GPUs, and as a peer
// of cuBLAS in tests.

#include "kernels/elementwise/operands.h"
#include "kernels/gemm/column_sums.h"
#include "kernels/gemm/gemm_gpu.h"
#include "kernels/gemm/product_body.h"

namespace dtnn {

template <typename T, typename R>
struct PlainProductBody {
  using W = Wide<T>;
  Product<T> product;
  W beta;
  R* c;
  int64_t ldc;

  void Declare(int64_t, gpu::Accesses& accesses) {
    product.Declare(accesses);
    accesses.Writes(c, product.n, product.m, ldc);
  }
  DTNN_HOST_DEVICE void operator()(int64_t element) const {
    const int64_t i = element % product.m, j = element / product.m;
    R& to = c[j * ldc + i];
    to = R(product.AddTo(beta == 0 ? W(0) : beta * W(to), i, j));
  }
};

class PlainBlas : public GpuRunner {
 public:
  static constexpr std::string_view kName = "plain";

  using GpuRunner::GpuRunner;

  template <typename T, typename R>
  absl::Status Multiply(bool tf32, bool transpose_a, bool transpose_b, int64_t m, int64_t n,
                        int64_t k, const T* a, int64_t lda, const T* b, int64_t ldb, Wide<R> beta,
                        R* c, int64_t ldc) const {
    return ForEach(kName, m * n,
                   PlainProductBody<T, R>{
                       {tf32, transpose_a, transpose_b, m, n, k, a, lda, b, ldb}, beta, c, ldc});
  }
};

absl::StatusOr<std::unique_ptr<Gemm>> CreatePlainGemm(DeviceContext& context,
                                                      const GemmSpec& spec) {
  if (context.device().is_cpu()) return NoKernelFor("gemm variant plain", context.device());
  return WithColumnSums(context, spec,
                        std::make_unique<GemmGpu<PlainBlas>>(PlainBlas(context), spec));
}

}  // namespace dtnn
