// A program outside DTNN that links one of its kernels: C = A * B.

#include <cstddef>
#include <cstdio>
#include <vector>

#include "kernels/gemm/serial_gemm.h"

int main() {
  const float a[2 * 3] = {1, 2, 3, 4, 5, 6};
  const float b[3 * 2] = {7, 8, 9, 10, 11, 12};
  float c[2 * 2];
  std::vector<std::byte> scratch(dtnn::SerialGemmScratchBytes<float>(/*m=*/2, /*n=*/2, /*k=*/3));
  dtnn::SerialGemm(/*transpose_a=*/false, /*transpose_b=*/false, /*m=*/2, /*n=*/2, /*k=*/3, a, 3, b,
                   2, /*accumulate=*/false, c, 2, scratch);
  std::printf("%g %g\n%g %g\n", c[0], c[1], c[2], c[3]);
  return c[0] == 58 && c[1] == 64 && c[2] == 139 && c[3] == 154 ? 0 : 1;
}
