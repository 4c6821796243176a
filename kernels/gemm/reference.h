// Matrix product in plain loops and double precision: what every variant is compared with.

#ifndef DTNN_KERNELS_GEMM_REFERENCE_H_
#define DTNN_KERNELS_GEMM_REFERENCE_H_

#include <cstdint>

namespace dtnn::reference {

// The element (i, j) of op(A) * op(B).
template <typename T>
double GemmElement(bool transpose_a, bool transpose_b, int64_t i, int64_t j, int64_t k, const T* a,
                   int64_t lda, const T* b, int64_t ldb) {
  double sum = 0;
  for (int64_t p = 0; p < k; ++p) {
    sum += double(transpose_a ? a[p * lda + i] : a[i * lda + p]) *
           double(transpose_b ? b[j * ldb + p] : b[p * ldb + j]);
  }
  return sum;
}

template <typename T>
void Gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const T* a,
          int64_t lda, const T* b, int64_t ldb, bool accumulate, T* c, int64_t ldc) {
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      const double sum = GemmElement(transpose_a, transpose_b, i, j, k, a, lda, b, ldb);
      c[i * ldc + j] = T(accumulate ? double(c[i * ldc + j]) + sum : sum);
    }
  }
}

}  // namespace dtnn::reference

#endif  // DTNN_KERNELS_GEMM_REFERENCE_H_
