// Matrix product on raw pointers by the calling thread alone: the inner step of kernels that divide
// their work over threads themselves (convolutions, Gemm).
//
//   C = op(A) * op(B), or C += op(A) * op(B) with `accumulate`; row-major, op(A) m x k, op(B) k x
//   n, C m x n. lda, ldb, ldc: elements from one stored row to the next.
//
// Any m, n, k >= 0 (k = 0: the sum is empty). C must not overlap A or B. Without `accumulate`, C is
// not read. Safe to call from several threads at once; starts none. Scratch memory for packed
// operands is kept per thread, so that a repeated call allocates nothing.

#ifndef DTNN_KERNELS_GEMM_SERIAL_GEMM_H_
#define DTNN_KERNELS_GEMM_SERIAL_GEMM_H_

#include <cstdint>

namespace dtnn {

template <typename T>
void SerialGemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const T* a,
                int64_t lda, const T* b, int64_t ldb, bool accumulate, T* c, int64_t ldc);

extern template void SerialGemm(bool, bool, int64_t, int64_t, int64_t, const float*, int64_t,
                                const float*, int64_t, bool, float*, int64_t);
extern template void SerialGemm(bool, bool, int64_t, int64_t, int64_t, const double*, int64_t,
                                const double*, int64_t, bool, double*, int64_t);

}  // namespace dtnn

#endif  // DTNN_KERNELS_GEMM_SERIAL_GEMM_H_
