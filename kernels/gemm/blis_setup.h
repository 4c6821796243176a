// BLIS, started with the kernels that fit this CPU.
//
// BLIS 0.9 looks the CPU's family and model up in a list. A CPU that is newer than the list, or
// whose hypervisor hides the model, gets the portable C kernels ("generic") or the AVX2 ones, at a
// sixth or half of the speed. InitBlis chooses by instruction sets instead: AVX-512 -> skx, AVX2 ->
// zen3 on AMD and haswell elsewhere, within what the process is restricted to (simd/simd_target.h).
// A BLIS_ARCH_TYPE set by the user is left alone.
//
// BLIS reads its choice from the environment, once, so InitBlis sets BLIS_ARCH_TYPE: the first call
// belongs before other threads that might read the environment are started, and never into a
// ParallelFor. What is made to use BLIS calls it when it is made.

#ifndef DTNN_KERNELS_GEMM_BLIS_SETUP_H_
#define DTNN_KERNELS_GEMM_BLIS_SETUP_H_

#include <string_view>

namespace dtnn {

// Chooses and initialises; later calls cost one load. Thread safe.
void InitBlis();

// The configuration that runs, as BLIS names it: "skx", "haswell", "zen3", "generic", ...
std::string_view BlisConfiguration();

}  // namespace dtnn

#endif  // DTNN_KERNELS_GEMM_BLIS_SETUP_H_
