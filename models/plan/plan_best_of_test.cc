// Plans whose convolutions are chosen by timing.

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/best_of/best_of.h"
#include "models/graph/builder.h"
#include "models/graph/freeze.h"
#include "models/plan/plan.h"
#include "models/testing/plan_session.h"
#include "tensor/philox.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::Close;
using ::dtnn::testing::Labels;
using ::dtnn::testing::PlanSession;
using ::dtnn::testing::RandomTensor;
using ::dtnn::testing::Values;
using ::testing::HasSubstr;

constexpr ImageExtents kImage = {8, 8, 3};
constexpr int64_t kBatch = 3;

// Convolutions of every kind, two of them alike.
Graph Network(TensorFormat format) {
  GraphBuilder b("tuned", format);
  b.Input(kImage).Conv2d(16, {.padding = 1}).Relu();
  b.Conv2d(16, {.padding = 1}).Relu().Conv2d(16, {.padding = 1}).Relu();
  b.Conv2d(0, {.padding = 1, .grouping = ConvGrouping::kDepthwise}).Tanh();
  b.Conv2d(6, {.grouping = ConvGrouping::kPointwise}).Tanh();
  b.Flatten().Fc(4).Softmax();
  return *b.Build();
}
// Forward 4, backwards to the data 3, since nobody asks for the gradient of the batch, and to the
// filter 4.
constexpr int64_t kKeys = 11;

// Calls take times that have nothing to do with them, the same for the same seed: candidates of all
// kinds win.
BestOf::Options ByChance(uint64_t seed) {
  const Philox random(seed, StreamId(RandomPurpose::kTest));
  return {.clock = [random, tick = uint64_t{0}, now = 0.0]() mutable {
    return now += 1 + random.Uniform(tick++);
  }};
}

class PlanBestOfTest : public ::testing::TestWithParam<TensorFormat> {
 protected:
  struct Result {
    std::vector<double> predictions, gradients;
  };

  std::unique_ptr<Plan> Compile(BestOf* best_of, bool training = true) {
    auto plan = Plan::Compile(
        session_.graph, *session_.store, *session_.device,
        {.batch = kBatch, .training = training, .loss = &session_.loss, .best_of = best_of});
    EXPECT_TRUE(plan.ok()) << plan.status();
    return *std::move(plan);
  }
  Result Step(Plan& plan) {
    EXPECT_TRUE(plan.ForwardBackward(x_, Labels(kBatch), 1.0 / kBatch, 0).ok());
    return {Values(plan.predictions()), Values(session_.store->gradients())};
  }

  PlanSession session_{Network(GetParam()), kBatch};
  Tensor x_ = RandomTensor(DType::kFloat64, SampleShape(kImage, GetParam()).Prepend(kBatch), 3);
};
INSTANTIATE_TEST_SUITE_P(Formats, PlanBestOfTest,
                         ::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW));

TEST_P(PlanBestOfTest, WhateverIsChosenComputesTheSame) {
  const Result expected = Step(*session_.plan);
  std::vector<std::string> chosen;
  for (uint64_t seed = 0; seed < 6; ++seed) {
    BestOf best_of(ByChance(seed));
    const std::unique_ptr<Plan> plan = Compile(&best_of);
    const Result result = Step(*plan);
    EXPECT_TRUE(Close(result.predictions, expected.predictions, 1e-12)) << seed;
    EXPECT_TRUE(Close(result.gradients, expected.gradients, 1e-11)) << seed;
    for (const auto& [key, decision] : best_of.decisions().all()) {
      chosen.push_back(decision.chosen);
    }
    // In evaluation too.
    const std::unique_ptr<Plan> evaluation = Compile(&best_of, /*training=*/false);
    ASSERT_TRUE(evaluation->Forward(x_).ok());
    EXPECT_TRUE(Close(Values(evaluation->predictions()), expected.predictions, 1e-12)) << seed;
  }
  std::ranges::sort(chosen);
  chosen.erase(std::ranges::unique(chosen).begin(), chosen.end());
  EXPECT_GE(chosen.size(), 4u) << "the test tries too few variants";
}

TEST_P(PlanBestOfTest, TimingChangesNothingButTheChoice) {
  const std::vector<double> before = Values(session_.store->all_values());
  BestOf timing(ByChance(1));
  const Result timed = Step(*Compile(&timing));
  EXPECT_EQ(Values(session_.store->all_values()), before);
  BestOf knowing({.known = timing.decisions()});
  const Result known = Step(*Compile(&knowing));
  EXPECT_EQ(knowing.timed(), 0);
  EXPECT_EQ(timed.predictions, known.predictions);
  EXPECT_EQ(timed.gradients, known.gradients);
}

TEST_P(PlanBestOfTest, WhatRunsIsTimedOnce) {
  BestOf best_of(ByChance(2));
  Compile(&best_of);
  EXPECT_EQ(best_of.timed(), kKeys);
  int64_t alike = 0;
  for (const auto& [key, uses] : best_of.uses()) alike += uses == 2;
  EXPECT_EQ(alike, 3);
  Compile(&best_of);
  EXPECT_EQ(best_of.timed(), kKeys);
  // Measuring a plan decides for it.
  BestOf measuring(ByChance(2));
  ASSERT_TRUE(
      Plan::Measure(
          session_.graph, DType::kFloat64, *session_.device,
          {.batch = kBatch, .training = true, .loss = &session_.loss, .best_of = &measuring})
          .ok());
  EXPECT_EQ(measuring.decisions().ToString(), best_of.decisions().ToString());
}

TEST_P(PlanBestOfTest, WhatDoesNotRunIsNotTimed) {
  const Graph frozen = *Freeze(session_.graph, "1");
  BestOf best_of(ByChance(3));
  ASSERT_TRUE(Plan::Measure(
                  frozen, DType::kFloat64, *session_.device,
                  {.batch = kBatch, .training = true, .loss = &session_.loss, .best_of = &best_of})
                  .ok());
  EXPECT_EQ(best_of.timed(), kKeys - 1);  // the filter of the first
  BestOf evaluation(ByChance(3));
  Compile(&evaluation, /*training=*/false);
  EXPECT_EQ(evaluation.timed(), 4);
  BestOf named(ByChance(3));
  ASSERT_TRUE(Plan::Measure(session_.graph, DType::kFloat64, *session_.device,
                            {.batch = kBatch, .conv_variant = "gemm", .best_of = &named})
                  .ok());
  EXPECT_EQ(named.timed(), 0);
}

TEST_P(PlanBestOfTest, APlanTellsWhatItRuns) {
  BestOf best_of(ByChance(5));
  const auto decided = [&](std::string_view direction, std::string_view size) {
    for (const auto& [key, decision] : best_of.decisions().all()) {
      if (key.direction == direction && key.problem.starts_with(size)) return decision.chosen;
    }
    return std::string("nothing");
  };
  std::vector<std::string> lines = Compile(&best_of)->Algorithms();
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines[0], "layer 1 (Conv2D): forward " + decided("forward", "n3h8w8c3_") +
                          ", backward filter " + decided("backward_filter", "n3h8w8c3_"));
  EXPECT_EQ(lines[1], "layer 3 (Conv2D): forward " + decided("forward", "n3h8w8c16_k16r3s3p1x1_") +
                          ", backward data " + decided("backward_data", "n3h8w8c16_k16r3s3p1x1_") +
                          ", backward filter " +
                          decided("backward_filter", "n3h8w8c16_k16r3s3p1x1_"));
  lines = session_.plan->Algorithms();  // by rule
  EXPECT_THAT(lines[4], HasSubstr("layer 9 (Conv2D): forward "));
}

TEST_P(PlanBestOfTest, ADecisionThatDoesNotFitNamesTheLayer) {
  BestOf timing(ByChance(4));
  Compile(&timing);
  Decisions wrong;
  const BestOfKey key = timing.decisions().all().begin()->first;
  wrong.Add(key, {.chosen = "fft", .candidates = {{"fft", 1}}});
  BestOf best_of({.known = wrong});
  const absl::Status status =
      Plan::Compile(
          session_.graph, *session_.store, *session_.device,
          {.batch = kBatch, .training = true, .loss = &session_.loss, .best_of = &best_of})
          .status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("(Conv2D): the decision for conv2d/"));
}

}  // namespace
}  // namespace dtnn
