#include "kernels/gemm/blis_gemm.h"

#include <blis-openmp/blis.h>

#include <algorithm>

namespace dtnn {
namespace {

// The expert interface takes the number of threads with the call: one, whatever the environment
// says.
rntm_t OneThread() {
  rntm_t runtime;
  bli_rntm_init(&runtime);
  bli_rntm_set_num_threads(1, &runtime);
  return runtime;
}

trans_t Trans(bool transpose) { return transpose ? BLIS_TRANSPOSE : BLIS_NO_TRANSPOSE; }

template <typename T, typename F>
void Run(F* blis_gemm, bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
         const T* a, int64_t lda, const T* b, int64_t ldb, bool accumulate, T* c, int64_t ldc) {
  if (m <= 0 || n <= 0) return;
  if (k <= 0) {
    for (int64_t i = 0; i < m && !accumulate; ++i) std::fill_n(c + i * ldc, n, T(0));
    return;
  }
  rntm_t runtime = OneThread();
  // With AVX2, BLIS 0.9's kernels for small float32 matrices read behind A (its issue 821), B and
  // C.
  if (sizeof(T) == sizeof(float)) bli_rntm_disable_l3_sup(&runtime);
  T one = 1, beta = accumulate ? 1 : 0;
  blis_gemm(Trans(transpose_a), Trans(transpose_b), m, n, k, &one, const_cast<T*>(a), lda, 1,
            const_cast<T*>(b), ldb, 1, &beta, c, ldc, 1, nullptr, &runtime);
}

}  // namespace

void BlisSerialGemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
                    const float* a, int64_t lda, const float* b, int64_t ldb, bool accumulate,
                    float* c, int64_t ldc) {
  Run(bli_sgemm_ex, transpose_a, transpose_b, m, n, k, a, lda, b, ldb, accumulate, c, ldc);
}

void BlisSerialGemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
                    const double* a, int64_t lda, const double* b, int64_t ldb, bool accumulate,
                    double* c, int64_t ldc) {
  Run(bli_dgemm_ex, transpose_a, transpose_b, m, n, k, a, lda, b, ldb, accumulate, c, ldc);
}

}  // namespace dtnn
