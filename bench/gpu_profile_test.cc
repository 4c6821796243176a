#include "bench/gpu_profile.h"

#include <algorithm>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;

TEST(GpuProfileTest, CountsTheLaunchesAndBytesOfAStep) {
  const ModelRunOptions options = {
      .model = "simplemlp", .batch = 4, .device = Device::Simulated(0)};
  const auto profile = ProfileStep(options);
  ASSERT_TRUE(profile.ok()) << profile.status();
  // One launch updates all of nearly a million parameters: of each it reads the gradient, and
  // writes the parameter and two moments.
  const auto update = std::ranges::find(profile->lines, "update", &KernelLine::name);
  ASSERT_NE(update, profile->lines.end()) << ToTable(*profile);
  EXPECT_EQ(update->calls, 1);
  EXPECT_TRUE(update->own);
  EXPECT_NEAR(update->bytes, 16 * 0.94e6, 16 * 0.06e6);
  int64_t calls = 0;
  for (const KernelLine& line : profile->lines) calls += line.calls;
  EXPECT_GT(calls, 10);
  EXPECT_LT(calls, 100);
  EXPECT_THAT(ToTable(*profile), HasSubstr("without times"));
  EXPECT_THAT(ToJsonLines(*profile, options), HasSubstr(R"("model":"simplemlp","batch":4)"));
}

TEST(GpuProfileTest, NamesBodies) {
  EXPECT_EQ(BodyName("void dtnn::gpu::compiled_by_nvcc::RunFunctor<dtnn::gpu::compiled_by_nvcc::"
                     "EachElement<dtnn::(anonymous namespace)::ScaleBody<float, 8> > >(int)"),
            "ScaleBody");
  EXPECT_EQ(BodyName("nothing"), "nothing");
}

}  // namespace
}  // namespace dtnn
