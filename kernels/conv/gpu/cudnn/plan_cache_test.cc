#include "kernels/conv/gpu/cudnn/plan_cache.h"

#include <string>

#include "gtest/gtest.h"

namespace dtnn::cudnn {
namespace {

using conv::Direction;

Conv2dSpec Spec() {
  Conv2dSpec spec;
  spec.batch = 8, spec.height = 6, spec.width = 7, spec.channels = 4, spec.filters = 6;
  spec.epilogue = {.bias = true};
  return spec;
}

PlanKey KeyOf(const Conv2dSpec& spec, Direction direction) {
  return PlanKey::Of(spec, DenseCall(spec, direction, 8), 100, "");
}

TEST(PlanKeyTest, ConvolutionsThatAreAlikeShareTheirPlans) {
  Conv2dSpec other = Spec();
  other.filter_format = TensorFormat::kNCHW;
  for (const Direction direction : conv::kDirections) {
    EXPECT_EQ(KeyOf(Spec(), direction), KeyOf(other, direction)) << "filters are reordered";
  }
  // The whole batch of one, and a smaller one of another.
  Conv2dSpec larger = Spec();
  larger.batch = 16;
  EXPECT_EQ(KeyOf(larger, Direction::kForward), KeyOf(Spec(), Direction::kForward));
  // Backward directions apply no epilogue.
  Conv2dSpec plain = Spec();
  plain.epilogue = {};
  EXPECT_EQ(KeyOf(plain, Direction::kBackwardData), KeyOf(Spec(), Direction::kBackwardData));
  EXPECT_EQ(KeyOf(plain, Direction::kBackwardFilter), KeyOf(Spec(), Direction::kBackwardFilter));
  EXPECT_NE(KeyOf(plain, Direction::kForward), KeyOf(Spec(), Direction::kForward));
}

TEST(PlanKeyTest, WhatAPlanDependsOnTellsThemApart) {
  const PlanKey key = KeyOf(Spec(), Direction::kForward);
  const auto differs = [&](auto change) {
    Conv2dSpec spec = Spec();
    change(spec);
    EXPECT_NE(KeyOf(spec, Direction::kForward), key) << spec.ToString();
  };
  differs([](Conv2dSpec& s) { s.height = 7; });
  differs([](Conv2dSpec& s) { s.width = 6; });
  differs([](Conv2dSpec& s) { s.channels = 2; });
  differs([](Conv2dSpec& s) { s.filters = 4; });
  differs([](Conv2dSpec& s) { s.kernel = Pair(3, 1); });
  differs([](Conv2dSpec& s) { s.stride = Pair(1, 2); });
  differs([](Conv2dSpec& s) { s.padding = Pair(1, 0); });
  differs([](Conv2dSpec& s) { s.dilation = 2; });
  differs([](Conv2dSpec& s) { s.groups = 2; });
  differs([](Conv2dSpec& s) { s.format = TensorFormat::kNCHW; });
  differs([](Conv2dSpec& s) { s.dtype = DType::kBfloat16; });
  differs([](Conv2dSpec& s) { s.tf32 = true; });
  differs([](Conv2dSpec& s) { s.epilogue.relu = true; });
  const CallShape call = DenseCall(Spec(), Direction::kForward, 8);
  CallShape unaligned = call;
  unaligned.alignment = 4;
  EXPECT_NE(PlanKey::Of(Spec(), unaligned, 100, ""), key);
  EXPECT_NE(PlanKey::Of(Spec(), call, 200, ""), key);
  EXPECT_NE(PlanKey::Of(Spec(), call, 100, "engine1"), key);
}

TEST(PlanCacheTest, APlanIsMadeOnce) {
  PlanCache<std::string> cache;
  int made = 0;
  const auto get = [&](Direction direction) {
    return cache.Get(KeyOf(Spec(), direction),
                     [&]() -> absl::StatusOr<std::string> { return std::to_string(++made); });
  };
  const auto first = get(Direction::kForward);
  EXPECT_EQ(**first, "1");
  EXPECT_EQ(**get(Direction::kBackwardData), "2");
  EXPECT_EQ(*get(Direction::kForward), *first) << "the same one";
  EXPECT_EQ(made, 2);
  cache.Clear();
  EXPECT_EQ(cache.size(), 0u);
  EXPECT_EQ(**first, "1") << "users keep theirs";
  EXPECT_EQ(**get(Direction::kForward), "3");
}

TEST(PlanCacheTest, WhatIsNotSupportedIsKeptAndOtherErrorsAreNot) {
  PlanCache<std::string> cache;
  int asked = 0;
  const auto get = [&](Direction direction, const absl::Status& error) {
    return cache
        .Get(KeyOf(Spec(), direction),
             [&]() -> absl::StatusOr<std::string> {
               ++asked;
               return error;
             })
        .status();
  };
  const absl::Status none = absl::UnimplementedError("no engine"), lost = absl::InternalError("x");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(get(Direction::kForward, none), none);
  EXPECT_EQ(asked, 1);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(get(Direction::kBackwardData, lost), lost);
  EXPECT_EQ(asked, 3);
}

}  // namespace
}  // namespace dtnn::cudnn
