#include "kernels/gemm/blis_setup.h"

#include <cstdlib>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(BlisSetupTest, UsesTheInstructionsOfThisCpu) {
  if (getenv("BLIS_ARCH_TYPE") != nullptr) GTEST_SKIP() << "BLIS_ARCH_TYPE is set by the user";
  InitBlis();
  InitBlis();
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw")) {
    EXPECT_EQ(BlisConfiguration(), "skx");
  } else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    EXPECT_TRUE(BlisConfiguration() == "haswell" || BlisConfiguration().substr(0, 3) == "zen")
        << BlisConfiguration();
  }
#endif
  EXPECT_FALSE(BlisConfiguration().empty());
}

}  // namespace
}  // namespace dtnn
