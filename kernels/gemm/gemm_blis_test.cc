#include <cstdlib>

#include "gtest/gtest.h"
#include "kernels/gemm/gemm.h"

namespace dtnn {
namespace {

// A program of its own: BLIS starts once.
TEST(BlisGemmTest, BlisIsStartedWhenAProductIsMadeNotWhenItRuns) {
  if (getenv("BLIS_ARCH_TYPE") != nullptr) GTEST_SKIP() << "BLIS_ARCH_TYPE is set by the user";
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "BLIS chooses for itself without AVX2";
#else
  GTEST_SKIP() << "BLIS chooses for itself";
#endif
  const auto context = *DeviceContext::Create(Device::Cpu());
  ASSERT_TRUE(CreateGemm(*context, {.m = 1, .n = 1, .k = 1}, "tile").ok());
  EXPECT_EQ(getenv("BLIS_ARCH_TYPE"), nullptr);
  ASSERT_TRUE(CreateGemm(*context, {.m = 1, .n = 1, .k = 1}, "blis").ok());
  EXPECT_NE(getenv("BLIS_ARCH_TYPE"), nullptr);
}

}  // namespace
}  // namespace dtnn
