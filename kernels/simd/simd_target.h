// The instruction set that the SIMD kernels run with: "AVX512", "AVX2", "SCALAR", ..., in Highway's
// words but for the first, which it calls AVX3, and "AVX512+AMX" or "AVX512+BF16" where bfloat16
// may be multiplied in tiles or in pairs. For start-up lines and reports.

#ifndef DTNN_KERNELS_SIMD_SIMD_TARGET_H_
#define DTNN_KERNELS_SIMD_SIMD_TARGET_H_

#include <string>

#include "absl/status/status.h"

namespace dtnn {

std::string SimdTarget();

// Restricts the kernels of this process, and BLIS, to "amx", "avx512_bf16", "avx512", "avx2",
// "sse2" where Highway has that target, or "scalar" (no vectors), and what is older: to compare
// them, to get the same bits on different machines, to test. Null or empty: no restriction.
// InvalidArgument, which lists the words that there are, for others, and for what this CPU lacks.
// Not while kernels run, and before BLIS is initialised.
absl::Status RestrictSimd(const char* name);

// The same with the environment variable DTNN_SIMD, once per process; DeviceContext::Create calls
// it.
absl::Status RestrictSimdByEnvironment();

}  // namespace dtnn

#endif  // DTNN_KERNELS_SIMD_SIMD_TARGET_H_
