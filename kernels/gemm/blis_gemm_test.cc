#include "kernels/gemm/blis_gemm.h"

#include <cstdint>

#include "gtest/gtest.h"
#include "kernels/gemm/blis_setup.h"
#include "kernels/gemm/reference.h"
#include "kernels/simd/simd_target.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::IntegerTensor;
using testing::Values;

// A program of its own: BLIS starts once, here with its kernels for AVX2, some of which read behind
// their operands. The tensors end at a page that nobody may touch.
TEST(BlisSerialGemmTest, ReadsNothingBehindItsOperands) {
  if (!RestrictSimd("avx2").ok()) GTEST_SKIP() << "this CPU has no AVX2";
  InitBlis();
  const auto check = [](int64_t m, int64_t n, int64_t k, bool transpose_a, bool transpose_b,
                        bool accumulate) {
    const Tensor a = IntegerTensor(DType::kFloat32, transpose_a ? Shape{k, m} : Shape{m, k}, 1);
    const Tensor b = IntegerTensor(DType::kFloat32, transpose_b ? Shape{n, k} : Shape{k, n}, 2);
    const Tensor c = IntegerTensor(DType::kFloat32, {m, n}, 3);
    const Tensor expected = IntegerTensor(DType::kFloat32, {m, n}, 3);
    const int64_t lda = a.shape()[1], ldb = b.shape()[1];
    reference::Gemm(transpose_a, transpose_b, m, n, k, a.data<float>(), lda, b.data<float>(), ldb,
                    accumulate, expected.data<float>(), n);
    BlisSerialGemm(transpose_a, transpose_b, m, n, k, a.data<float>(), lda, b.data<float>(), ldb,
                   accumulate, c.data<float>(), n);
    EXPECT_EQ(Values(c), Values(expected)) << m << " " << n << " " << k;
  };
  for (int64_t m = 1; m <= 17; ++m) {
    for (const int64_t k : {1, 2, 7, 8, 9, 12, 31, 100}) {
      for (const int64_t n : {1, 2, 3, 14, 17, 512}) {
        for (int bits = 0; bits < 8; ++bits) {
          check(m, n, k, bits & 1, bits & 2, bits & 4);
        }
      }
    }
  }
}

}  // namespace
}  // namespace dtnn
