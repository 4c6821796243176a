// SerialGemm's contract (serial_gemm.h) by BLIS on the calling thread; InitBlis (blis_setup.h)
// comes first, before threads are started. BLIS takes some heap memory at every call.

#ifndef DTNN_KERNELS_GEMM_BLIS_GEMM_H_
#define DTNN_KERNELS_GEMM_BLIS_GEMM_H_

#include <cstdint>

namespace dtnn {

void BlisSerialGemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
                    const float* a, int64_t lda, const float* b, int64_t ldb, bool accumulate,
                    float* c, int64_t ldc);
void BlisSerialGemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
                    const double* a, int64_t lda, const double* b, int64_t ldb, bool accumulate,
                    double* c, int64_t ldc);

}  // namespace dtnn

#endif  // DTNN_KERNELS_GEMM_BLIS_GEMM_H_
