#include "kernels/gemm/serial_gemm.h"

#include "kernels/gemm/blis_gemm.h"

namespace dtnn {

template <typename T>
void SerialGemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const T* a,
                int64_t lda, const T* b, int64_t ldb, bool accumulate, T* c, int64_t ldc) {
  BlisSerialGemm(transpose_a, transpose_b, m, n, k, a, lda, b, ldb, accumulate, c, ldc);
}

template void SerialGemm(bool, bool, int64_t, int64_t, int64_t, const float*, int64_t, const float*,
                         int64_t, bool, float*, int64_t);
template void SerialGemm(bool, bool, int64_t, int64_t, int64_t, const double*, int64_t,
                         const double*, int64_t, bool, double*, int64_t);

}  // namespace dtnn
