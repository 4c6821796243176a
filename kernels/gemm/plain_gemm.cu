// The product without a library: a thread for each element of C. For simulated GPUs, and as a peer
// of cuBLAS in tests.

#include "kernels/elementwise/operands.h"
#include "kernels/gemm/gemm_gpu.h"

namespace dtnn {

template <typename T>
struct ProductBody {
  bool transpose_a, transpose_b;
  int64_t m, n, k;
  const T* a;
  int64_t lda;
  const T* b;
  int64_t ldb;
  T beta;
  T* c;
  int64_t ldc;

  void Declare(int64_t, gpu::Accesses& accesses) {
    accesses.Reads(a, transpose_a ? m : k, transpose_a ? k : m, lda);
    accesses.Reads(b, transpose_b ? k : n, transpose_b ? n : k, ldb);
    accesses.Writes(c, n, m, ldc);
  }
  DTNN_HOST_DEVICE void operator()(int64_t element) const {
    const int64_t i = element % m, j = element / m;
    T sum = beta == 0 ? T(0) : beta * c[j * ldc + i];
    for (int64_t p = 0; p < k; ++p) {
      sum +=
          a[transpose_a ? i * lda + p : p * lda + i] * b[transpose_b ? p * ldb + j : j * ldb + p];
    }
    c[j * ldc + i] = sum;
  }
};

class PlainBlas : public GpuRunner {
 public:
  static constexpr std::string_view kName = "plain";

  using GpuRunner::GpuRunner;

  template <typename T>
  absl::Status Multiply(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
                        const T* a, int64_t lda, const T* b, int64_t ldb, T beta, T* c,
                        int64_t ldc) const {
    return ForEach(kName, m * n,
                   ProductBody<T>{transpose_a, transpose_b, m, n, k, a, lda, b, ldb, beta, c, ldc});
  }
};

absl::StatusOr<std::unique_ptr<Gemm>> CreatePlainGemm(DeviceContext& context,
                                                      const GemmSpec& spec) {
  if (context.device().is_cpu()) return NoKernelFor("gemm variant plain", context.device());
  return std::make_unique<GemmGpu<PlainBlas>>(PlainBlas(context), spec);
}

}  // namespace dtnn
