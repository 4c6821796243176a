#include "kernels/simd_target.h"

#include "gtest/gtest.h"
#include "hwy/highway.h"

namespace dtnn {
namespace {

TEST(SimdTargetTest, FollowsTheChosenTarget) {
  hwy::GetChosenTarget().Update(HWY_AVX2);
  EXPECT_EQ(SimdTarget(), "AVX2");
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  EXPECT_NE(SimdTarget(), "");
}

}  // namespace
}  // namespace dtnn
