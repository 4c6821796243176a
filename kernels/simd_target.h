// The instruction set that the SIMD kernels run with on this CPU, as Highway names it: "AVX3"
// (AVX-512), "AVX2", "SSE2", ... For start-up lines and reports.

#ifndef DTNN_KERNELS_SIMD_TARGET_H_
#define DTNN_KERNELS_SIMD_TARGET_H_

#include <string>

namespace dtnn {

std::string SimdTarget();

}  // namespace dtnn

#endif  // DTNN_KERNELS_SIMD_TARGET_H_
