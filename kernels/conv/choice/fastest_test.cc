#include "kernels/conv/choice/fastest.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using conv::Direction;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Conv2dUse kKept = {.keeps_filter = true};

Conv2dSpec Spec() {
  Conv2dSpec spec;
  spec.batch = 2;
  spec.height = spec.width = 6;
  spec.channels = 5;
  spec.filters = 7;
  spec.padding = 1;
  spec.epilogue.bias = true;
  return spec;
}

class FastestConv2dTest : public ::testing::Test {
 protected:
  // With a clock on which every call takes longer than the one before: the first candidate wins.
  BestOf::Options Options() {
    return {.clock = [this] { return now_ += ++tick_; },
            .warn = [this](std::string_view line) { warnings_.emplace_back(line); }};
  }

  std::unique_ptr<DeviceContext> context_ = *DeviceContext::Create(Device::Cpu());
  std::vector<std::string> warnings_;
  double now_ = 0, tick_ = 0;
};

TEST_F(FastestConv2dTest, EveryVariantThatComputesADirectionIsACandidate) {
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kBfloat16}) {
      for (const int64_t groups : {1, 5}) {
        Conv2dSpec spec = Spec();
        spec.format = format;
        spec.dtype = dtype;
        spec.groups = groups;
        spec.filters = 2 * groups * (groups == 1 ? 3 : 1);
        BestOf best_of(Options());
        const auto variants = FastestConv2d(best_of, *context_, spec, kKept);
        ASSERT_TRUE(variants.ok()) << variants.status();
        EXPECT_EQ(best_of.timed(), 3);
        for (const Direction direction : conv::kDirections) {
          const Decision* decision =
              best_of.decisions().Find(FastestConv2dKey(spec, direction, true));
          ASSERT_NE(decision, nullptr) << conv::Name(direction);
          std::vector<std::string> names, expected;
          for (const CandidateTime& each : decision->candidates) names.push_back(each.name);
          EXPECT_EQ(names[0], AutomaticVariant(spec, direction));
          for (const std::string_view name : Conv2dVariantNames()) {
            if (Conv2dRefusal(name, spec, direction).empty()) expected.emplace_back(name);
          }
          EXPECT_THAT(names, ::testing::UnorderedElementsAreArray(expected));
          EXPECT_EQ((*variants)[direction], decision->chosen);
        }
        EXPECT_THAT(warnings_, IsEmpty());
      }
    }
  }
}

TEST_F(FastestConv2dTest, OnlyTheDirectionsAskedForAreTimed) {
  BestOf best_of(Options());
  const Conv2dUse forward = {.directions = conv::Only(Direction::kForward)};
  const Conv2dVariants variants = *FastestConv2d(best_of, *context_, Spec(), forward);
  EXPECT_EQ(best_of.timed(), 1);
  EXPECT_NE(variants[Direction::kForward], "auto");
  EXPECT_EQ(variants[Direction::kBackwardData], "auto");
  EXPECT_EQ(variants[Direction::kBackwardFilter], "auto");
}

// Files of decisions have a word for it.
TEST_F(FastestConv2dTest, ADirectionIsOneWordOfItsKey) {
  for (const auto& [direction, word] : {std::pair(Direction::kForward, "/forward/"),
                                        {Direction::kBackwardData, "/backward_data/"},
                                        {Direction::kBackwardFilter, "/backward_filter/"}}) {
    EXPECT_THAT(FastestConv2dKey(Spec(), direction, false).ToString(), ::testing::HasSubstr(word));
  }
}

TEST_F(FastestConv2dTest, KeysTellApartWhatMattersToADirection) {
  const auto key = [](Direction direction, auto change, bool keeps_filter = true) {
    Conv2dSpec spec = Spec();
    change(spec);
    return FastestConv2dKey(spec, direction, keeps_filter).ToString();
  };
  const auto as_is = [](Conv2dSpec&) {};
  const auto relu = [](Conv2dSpec& spec) { spec.epilogue.relu = true; };
  const auto larger = [](Conv2dSpec& spec) { spec.batch = 3; };
  for (const Direction direction : conv::kDirections) {
    EXPECT_NE(key(direction, as_is), key(direction, larger));
  }
  EXPECT_NE(key(Direction::kForward, as_is), key(Direction::kForward, relu));
  EXPECT_EQ(key(Direction::kBackwardData, as_is), key(Direction::kBackwardData, relu));
  EXPECT_EQ(key(Direction::kBackwardFilter, as_is), key(Direction::kBackwardFilter, relu));
  EXPECT_NE(key(Direction::kForward, as_is), key(Direction::kForward, as_is, false));
  EXPECT_NE(key(Direction::kBackwardData, as_is), key(Direction::kBackwardData, as_is, false));
  EXPECT_EQ(key(Direction::kBackwardFilter, as_is), key(Direction::kBackwardFilter, as_is, false));
  EXPECT_THAT(key(Direction::kForward, as_is),
              HasSubstr("conv2d/forward/n2h6w6c5_k7r3s3p1x1_nhwc_f32_bias_kept/t"));
}

// And a decision of one run is understood by another, whatever names that has.
TEST_F(FastestConv2dTest, CandidatesMayHaveNamesOfDirectMethods) {
  const std::string method = "convdirect_tzemeng_nhwc_7x12_u4";
  const std::string rule(AutomaticVariant(Spec(), Direction::kForward));
  ASSERT_EQ(rule, "gemm");
  const Conv2dUse forward = {.directions = conv::Only(Direction::kForward)};
  BestOf::Options options = Options();
  options.names = {{"gemm", method}};
  BestOf best_of(std::move(options));
  EXPECT_EQ((*FastestConv2d(best_of, *context_, Spec(), forward))[Direction::kForward], "gemm");
  const Decision* decision =
      best_of.decisions().Find(FastestConv2dKey(Spec(), Direction::kForward, false));
  ASSERT_NE(decision, nullptr);
  EXPECT_EQ(decision->chosen, method);
  EXPECT_EQ(std::ranges::count(decision->candidates, method, &CandidateTime::name), 1);
  EXPECT_EQ(std::ranges::count(decision->candidates, "gemm", &CandidateTime::name), 0);
  EXPECT_EQ(std::ranges::count(decision->candidates, "i2c", &CandidateTime::name), 1);
  BestOf later({.known = best_of.decisions()});
  EXPECT_EQ((*FastestConv2d(later, *context_, Spec(), forward))[Direction::kForward], "gemm");
  EXPECT_EQ(later.timed(), 0);
}

// All parts of a write-back reach the calls.
TEST_F(FastestConv2dTest, AnyWriteBackCanBeTimed) {
  Conv2dSpec spec = Spec();
  spec.epilogue = {.bias = true, .scale = true, .add = true, .relu = true};
  BestOf best_of(Options());
  const auto variants = FastestConv2d(best_of, *context_, spec, kKept);
  EXPECT_TRUE(variants.ok()) << variants.status();
}

TEST_F(FastestConv2dTest, WhatHasNoMemoryIsLeftOut) {
  BestOf best_of(Options());
  int asked = 0;
  const auto variants = FastestConv2d(best_of, *context_, Spec(), kKept,
                                      [&](size_t bytes) -> absl::StatusOr<std::shared_ptr<Buffer>> {
                                        if (asked++ > 0) return AllocateHostWorkspace(bytes);
                                        return absl::ResourceExhaustedError("no memory left");
                                      });
  ASSERT_TRUE(variants.ok()) << variants.status();
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_THAT(warnings_[0], HasSubstr(" is not timed: no memory left"));
  const std::string dropped(AutomaticVariant(Spec(), Direction::kForward));
  EXPECT_THAT(warnings_[0], HasSubstr(": " + dropped + " is not"));
  const Decision* decision =
      best_of.decisions().Find(FastestConv2dKey(Spec(), Direction::kForward, true));
  ASSERT_NE(decision, nullptr);
  EXPECT_EQ(std::ranges::count(decision->candidates, dropped, &CandidateTime::name), 0);
}

TEST_F(FastestConv2dTest, WithoutAnyMemoryTheChoiceIsAutomatic) {
  BestOf best_of(Options());
  const auto variants = FastestConv2d(best_of, *context_, Spec(), kKept,
                                      [](size_t) -> absl::StatusOr<std::shared_ptr<Buffer>> {
                                        return absl::ResourceExhaustedError("no memory left");
                                      });
  ASSERT_TRUE(variants.ok()) << variants.status();
  EXPECT_EQ((*variants)[Direction::kForward], "auto");
  EXPECT_EQ((*variants)[Direction::kBackwardFilter], "auto");
  EXPECT_EQ(best_of.timed(), 0);
  EXPECT_THAT(warnings_.back(), HasSubstr("not timed, automatic choice: no memory left"));
}

TEST_F(FastestConv2dTest, OtherErrorsOfMemoryAreThoseOfTheChoice) {
  BestOf best_of(Options());
  const auto variants = FastestConv2d(best_of, *context_, Spec(), kKept,
                                      [](size_t) -> absl::StatusOr<std::shared_ptr<Buffer>> {
                                        return absl::InternalError("the device is gone");
                                      });
  EXPECT_EQ(variants.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(variants.status().message()), HasSubstr("the device is gone"));
}

TEST_F(FastestConv2dTest, DecisionsThatDoNotFitAreErrors) {
  const BestOfKey key = FastestConv2dKey(Spec(), Direction::kForward, true);
  for (const std::string name : {"depthwise", "fft"}) {  // the first exists
    BestOf::Options options = Options();
    options.known.Add(key, {.chosen = name, .candidates = {{name, 1}}});
    BestOf best_of(options);
    const auto variants = FastestConv2d(best_of, *context_, Spec(), kKept);
    EXPECT_EQ(variants.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(variants.status().message()),
                HasSubstr("the decision for " + key.ToString() + " is \"" + name + "\": "));
  }
  BestOf best_of(Options());
  Conv2dSpec invalid = Spec();
  invalid.batch = 0;
  EXPECT_FALSE(FastestConv2d(best_of, *context_, invalid, kKept).ok());
}

}  // namespace
}  // namespace dtnn
