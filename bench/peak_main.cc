// Prints what this machine could do at best: the line that belongs above every table of figures.

#include <cstdio>
#include <string>

#include "kernels/gemm/blis_setup.h"
#include "kernels/peak/peak.h"
#include "kernels/simd/simd_target.h"
#include "tensor/threads/parallel_for.h"

int main() {
  const int threads = dtnn::NumThreads();
  std::printf("SIMD %s, BLIS %s, %d threads\n", dtnn::SimdTarget().c_str(),
              std::string(dtnn::BlisConfiguration()).c_str(), threads);
  for (const dtnn::DType dtype : {dtnn::DType::kFloat32, dtnn::DType::kFloat64}) {
    std::printf("FMA %s: %.1f GFLOP/s on one thread, %.1f on %d\n",
                std::string(dtnn::Name(dtype)).c_str(), dtnn::MeasureFmaPeakGflops(1, dtype),
                dtnn::MeasureFmaPeakGflops(threads, dtype), threads);
  }
  if (const double dots = dtnn::MeasureDotPeakGflops(1); dots > 0) {
    std::printf("dots bfloat16: %.1f GFLOP/s on one thread, %.1f on %d\n", dots,
                dtnn::MeasureDotPeakGflops(threads), threads);
  }
  if (const double tiles = dtnn::MeasureTilePeakGflops(1); tiles > 0) {
    std::printf("tiles bfloat16: %.0f GFLOP/s on one thread, %.0f on %d\n", tiles,
                dtnn::MeasureTilePeakGflops(threads), threads);
  }
  std::printf("copy: %.1f GB/s on one thread, %.1f on %d\n", dtnn::MeasureCopyBandwidth(1),
              dtnn::MeasureCopyBandwidth(threads), threads);
  return 0;
}
