// The product of GPUs without a library, as one thread computes an element of it: op(A) op(B),
// column-major. op(A) is m x k, op(B) is k x n; lda and ldb are elements from column to column. For
// bodies of kernels (kernels/gpu/runner.h), which write what they make of the sum.

#ifndef DTNN_KERNELS_GEMM_PRODUCT_BODY_H_
#define DTNN_KERNELS_GEMM_PRODUCT_BODY_H_

#include <cstdint>

#include "kernels/gpu/factor.h"
#include "tensor/float16.h"
#include "tensor/gpu/kernel.h"

namespace dtnn {

template <typename T>
struct Product {
  using W = Wide<T>;
  bool tf32, transpose_a, transpose_b;
  int64_t m, n, k;
  const T* a;
  int64_t lda;
  const T* b;
  int64_t ldb;

  void Declare(gpu::Accesses& accesses) {
    accesses.Reads(a, transpose_a ? m : k, transpose_a ? k : m, lda);
    accesses.Reads(b, transpose_b ? k : n, transpose_b ? n : k, ldb);
  }
  // `sum` and the terms of element (i, j), in ascending order.
  DTNN_HOST_DEVICE W AddTo(W sum, int64_t i, int64_t j) const {
    for (int64_t p = 0; p < k; ++p) {
      sum += FactorOf(a[transpose_a ? i * lda + p : p * lda + i], tf32) *
             FactorOf(b[transpose_b ? p * ldb + j : j * ldb + p], tf32);
    }
    return sum;
  }
};

}  // namespace dtnn

#endif  // DTNN_KERNELS_GEMM_PRODUCT_BODY_H_
