#include "kernels/simd/simd_target.h"

#include <string>
#include <string_view>

#include "gtest/gtest.h"
#include "hwy/highway.h"
#include "kernels/amx/amx.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

TEST(SimdTargetTest, FollowsTheChosenTarget) {
  hwy::GetChosenTarget().Update(HWY_AVX2);
  EXPECT_EQ(SimdTarget(), "AVX2");
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  EXPECT_NE(SimdTarget(), "");
}

TEST(SimdTargetTest, IsRestrictedByName) {
  ASSERT_TRUE(RestrictSimd("scalar").ok());
  EXPECT_EQ(SimdTarget(), "SCALAR");
#ifdef HWY_SSE2
  constexpr std::string_view kSse2 = "sse2, ";
  ASSERT_TRUE(RestrictSimd("sse2").ok());
  EXPECT_EQ(SimdTarget(), "SSE2");
#else
  constexpr std::string_view kSse2 = "";
  EXPECT_FALSE(RestrictSimd("sse2").ok());
#endif
  ASSERT_TRUE(RestrictSimd("").ok());
  const std::string best = SimdTarget();
  if (hwy::SupportedTargets() & HWY_AVX2) {
    ASSERT_TRUE(RestrictSimd("avx2").ok());
    EXPECT_EQ(SimdTarget(), "AVX2");
  }
  ASSERT_TRUE(RestrictSimd(nullptr).ok());
  EXPECT_EQ(SimdTarget(), best);
  if (hwy::SupportedTargets() & HWY_AVX3) {
    ASSERT_TRUE(RestrictSimd("avx512").ok());
    EXPECT_EQ(SimdTarget(), "AVX512");
    EXPECT_NE(AmxRefusal(), "");
    EXPECT_NE(DotRefusal(), "");
    ASSERT_TRUE(RestrictSimd("").ok());
    if (DotRefusal().empty()) {
      ASSERT_TRUE(RestrictSimd("avx512_bf16").ok());
      EXPECT_EQ(SimdTarget(), "AVX512+BF16");
      EXPECT_NE(AmxRefusal(), "");
      ASSERT_TRUE(RestrictSimd("").ok());
    } else {
      EXPECT_EQ(RestrictSimd("avx512_bf16"),
                InvalidArgument("DTNN_SIMD=avx512_bf16: ", DotRefusal()));
    }
    if (AmxRefusal().empty()) {
      ASSERT_TRUE(RestrictSimd("amx").ok());
      EXPECT_EQ(SimdTarget(), "AVX512+AMX");
    } else {
      EXPECT_EQ(RestrictSimd("amx"), InvalidArgument("DTNN_SIMD=amx: ", AmxRefusal()));
    }
  } else {
    EXPECT_EQ(RestrictSimd("avx512"),
              absl::InvalidArgumentError("DTNN_SIMD=avx512: this CPU has at most " + best));
  }
  EXPECT_EQ(RestrictSimd("avx"),
            InvalidArgument("DTNN_SIMD=\"avx\": must be one of: amx, avx512_bf16, avx512, avx2, ",
                            kSse2, "scalar"));
}

}  // namespace
}  // namespace dtnn
