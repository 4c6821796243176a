// Whole networks with every algorithm of convolutions that can be named, and with those that a
// tuner chooses.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/best_of/best_of.h"
#include "kernels/conv/conv2d.h"
#include "models/graph/builder.h"
#include "models/plan/plan.h"
#include "models/testing/gradient_check.h"
#include "models/testing/plan_session.h"
#include "tensor/philox.h"

namespace dtnn {
namespace {

using ::dtnn::testing::CheckNetworkGradients;
using ::dtnn::testing::PlanSession;
using ::testing::HasSubstr;
using ::testing::Not;

// Convolutions of every kind: 3x3 with few and with many channels, strided, dilated, 5x5, depthwise
// and pointwise, with and without a normalisation.
Graph Network(TensorFormat format) {
  GraphBuilder b("variants", format);
  b.Input({12, 12, 3}).Conv2d(4, {.padding = 1}).Tanh();              // 1
  b.Conv2d(16, {.padding = 1, .bias = false}).BatchNorm().Tanh();     // 3
  b.Conv2d(16, {.padding = 1}).Relu();                                // 6
  b.Conv2d(8, {.stride = 2, .padding = 1}).Tanh();                    // 8
  b.Conv2d(6, {.padding = 2, .dilation = 2}).Tanh();                  // 10
  b.Conv2d(5, {.kernel = 7, .padding = 3}).Tanh();                    // 12
  b.Conv2d(0, {.padding = 1, .grouping = ConvGrouping::kDepthwise});  // 14
  b.Conv2d(4, {.grouping = ConvGrouping::kPointwise}).Tanh();         // 15
  b.Flatten().Fc(4).Softmax();
  return *b.Build();
}

class PlanVariantsTest : public ::testing::TestWithParam<TensorFormat> {};
INSTANTIATE_TEST_SUITE_P(Formats, PlanVariantsTest,
                         ::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW),
                         [](const auto& info) { return std::string(Name(info.param)); });

TEST_P(PlanVariantsTest, GradientsOfAWholeNetworkWithEveryVariant) {
  for (const std::string_view variant : Conv2dVariantNames()) {
    EXPECT_TRUE(CheckNetworkGradients(Network(GetParam()),
                                      {.elements = 6, .conv_variant = std::string(variant)}))
        << variant;
  }
}

// Times that have nothing to do with the calls: candidates of all kinds win.
TEST_P(PlanVariantsTest, GradientsOfAWholeNetworkWithATuner) {
  for (const uint64_t seed : {1, 2, 3}) {
    const Philox random(seed, StreamId(RandomPurpose::kTest));
    BestOf best_of({.clock = [random, tick = uint64_t{0}, now = 0.0]() mutable {
      return now += 1 + random.Uniform(tick++);
    }});
    EXPECT_TRUE(CheckNetworkGradients(Network(GetParam()), {.elements = 6, .best_of = &best_of}))
        << seed;
    EXPECT_GT(best_of.timed(), 15);
  }
}

TEST_P(PlanVariantsTest, AlternativesNameEveryVariantOnceForEachDirection) {
  PlanSession session(Network(GetParam()), 2);
  const auto plan = *Plan::Compile(session.graph, *session.store, *session.device,
                                   {.batch = 2, .training = true, .loss = &session.loss});
  const std::vector<std::string> lines = plan->Algorithms(/*alternatives=*/true);
  // The first layer has no gradient of its input.
  ASSERT_EQ(lines.size(), plan->Algorithms().size() + 7 * 3 + 2);
  EXPECT_THAT(lines[0], HasSubstr("layer 1 (Conv2D): "));
  EXPECT_THAT(lines[1], ::testing::StartsWith("  forward: "));
  EXPECT_THAT(lines[2], ::testing::StartsWith("  backward filter: "));
  for (const std::string& line : lines) {
    if (!line.starts_with("  ")) continue;
    for (const std::string_view name : Conv2dVariantNames()) {
      EXPECT_THAT(line, ::testing::ContainsRegex("[ :]" + std::string(name) + "(,|;| |$)")) << name;
    }
  }
  EXPECT_THAT(
      lines[12],  // of layer 8, with a stride
      ::testing::MatchesRegex("  forward: gemm \\([0-9.]+ MB\\), not i2c \\([0-9.]+ "
                              "MB\\).*; refused: direct computes stride 1 with few channels "
                              "on maps wider than the kernel; depthwise computes one filter "
                              "per channel: as many filters and groups as channels; "
                              "winograd computes a stride of 1 only.*"));
  EXPECT_THAT(lines[8], HasSubstr(" MB, rounds "));  // winograd's
}

TEST_P(PlanVariantsTest, AVariantThatRefusesIsReplacedAndThatIsTold) {
  PlanSession session(Network(GetParam()), 2);
  const auto lines = [&](std::string_view variant) {
    const auto plan = Plan::Compile(session.graph, *session.store, *session.device,
                                    {.batch = 2,
                                     .training = true,
                                     .loss = &session.loss,
                                     .conv_variant = std::string(variant)});
    EXPECT_TRUE(plan.ok()) << plan.status();
    return (*plan)->Algorithms();
  };
  const std::vector<std::string> winograd = lines("winograd");
  ASSERT_EQ(winograd.size(), 8u);
  EXPECT_EQ(winograd[2],
            "layer 6 (Conv2D): forward winograd, backward data winograd, backward filter winograd");
  const std::string gemm = "gemm (winograd: computes a stride of 1 only)";
  EXPECT_EQ(winograd[3], "layer 8 (Conv2D): forward " + gemm + ", backward data " + gemm +
                             ", backward filter " + gemm);
  EXPECT_THAT(winograd[4], HasSubstr("forward gemm (winograd: computes a dilation of 1"));
  EXPECT_THAT(winograd[5], HasSubstr(" (winograd: computes kernels of 3x3 and 5x5 only)"));
  const std::vector<std::string> depthwise = lines("depthwise");
  EXPECT_THAT(depthwise[2], HasSubstr(" (depthwise: computes one filter per channel: "));
  EXPECT_EQ(depthwise[6],
            "layer 14 (Conv2D): forward depthwise, backward data depthwise, backward "
            "filter depthwise");
  for (const std::string_view any : {"auto", "i2c", "gemm"}) {
    for (const std::string& line : lines(any)) EXPECT_THAT(line, Not(HasSubstr("computes")));
  }
}

}  // namespace
}  // namespace dtnn
