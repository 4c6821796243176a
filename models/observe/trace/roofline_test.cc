#include "models/observe/trace/roofline.h"

#include <vector>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

const LayerFacts kLayer = {.forward_flops = 1000,
                           .backward_flops = 2000,
                           .forward_bytes = 10,
                           .backward_bytes = 20,
                           .parameter_bytes = 100,
                           .first_gradient = 0,
                           .last_gradient = 25};

TEST(RooflineTest, ParametersAreReadByBothPassesAndTheirGradientsWritten) {
  const LayerWork work =
      WorkOf(kLayer, {.forward = 3, .forward_samples = 30, .backward = 2, .backward_samples = 20});
  EXPECT_EQ(work.flops, 30 * 1000 + 20 * 2000);
  EXPECT_EQ(work.bytes, 30 * 10 + 20 * 20 + 100 * (3 + 2 * 2));
  EXPECT_EQ(UpdateOf(kLayer).bytes, 300);
  EXPECT_EQ(UpdateOf({.parameter_bytes = 100}).bytes, 0) << "nothing of it is trained";
}

TEST(RooflineTest, TheSlowerOfTwoDecides) {
  const LayerWork work = {.flops = 100, .bytes = 10};
  EXPECT_EQ(SecondsAtBest(work, {.flops = 50, .bytes = 10}), 2);
  EXPECT_EQ(SecondsAtBest(work, {.flops = 50, .bytes = 2}), 5);
  EXPECT_EQ(SecondsAtBest(work, {.flops = 50}), 2);
  EXPECT_EQ(SecondsAtBest(work, {}), 0);
}

TEST(RooflineTest, AStepIsItsLayersOneAfterTheOther) {
  const std::vector<LayerFacts> layers = {kLayer, {.forward_bytes = 50}};
  const StepAtBest step = StepSecondsAtBest(layers, 4, {.flops = 1000, .bytes = 10});
  // The first layer is bound by bytes: (10 + 20) * 4 + 300 = 420.
  EXPECT_EQ(step.passes, 42 + 20);
  EXPECT_EQ(step.update, 30);
}

}  // namespace
}  // namespace dtnn
