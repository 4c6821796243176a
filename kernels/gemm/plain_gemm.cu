// The product without a library: a thread for each element of C. For simulated GPUs, and as a peer
// of cuBLAS in tests.

#include "kernels/elementwise/operands.h"
#include "kernels/factor_gpu.h"
#include "kernels/gemm/gemm_gpu.h"

namespace dtnn {

template <typename T, typename R>
struct ProductBody {
  using W = Wide<R>;
  bool tf32, transpose_a, transpose_b;
  int64_t m, n, k;
  const T* a;
  int64_t lda;
  const T* b;
  int64_t ldb;
  W beta;
  R* c;
  int64_t ldc;

  void Declare(int64_t, gpu::Accesses& accesses) {
    accesses.Reads(a, transpose_a ? m : k, transpose_a ? k : m, lda);
    accesses.Reads(b, transpose_b ? k : n, transpose_b ? n : k, ldb);
    accesses.Writes(c, n, m, ldc);
  }
  DTNN_HOST_DEVICE void operator()(int64_t element) const {
    const int64_t i = element % m, j = element / m;
    W sum = beta == 0 ? W(0) : beta * W(c[j * ldc + i]);
    for (int64_t p = 0; p < k; ++p) {
      sum += FactorOf(a[transpose_a ? i * lda + p : p * lda + i], tf32) *
             FactorOf(b[transpose_b ? p * ldb + j : j * ldb + p], tf32);
    }
    c[j * ldc + i] = R(sum);
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
    return ForEach(
        kName, m * n,
        ProductBody<T, R>{tf32, transpose_a, transpose_b, m, n, k, a, lda, b, ldb, beta, c, ldc});
  }
};

absl::StatusOr<std::unique_ptr<Gemm>> CreatePlainGemm(DeviceContext& context,
                                                      const GemmSpec& spec) {
  if (context.device().is_cpu()) return NoKernelFor("gemm variant plain", context.device());
  return std::make_unique<GemmGpu<PlainBlas>>(PlainBlas(context), spec);
}

}  // namespace dtnn
