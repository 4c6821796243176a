#include "layers/merging/weighted_sum.h"

#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "layers/testing/gradient_check.h"

namespace dtnn {
namespace {

using ::dtnn::testing::CheckGradients;

TEST(WeightedSumLayerTest, Gradients) {
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    const Shape values = SampleShape({1, 5, 4}, format);
    for (const int64_t heads : {1, 2, 4}) {
      const Shape weights = SampleShape({2, 3, heads * 5}, format);
      EXPECT_TRUE(CheckGradients(WeightedSumLayer(heads), {weights, values}, format)) << heads;
    }
  }
}

TEST(WeightedSumLayerTest, HasThePixelsOfTheWeightsAndTheChannelsOfTheValues) {
  const WeightedSumLayer layer(2);
  const std::vector<Shape> inputs = {{20, 3, 4}, {6, 2, 5}};
  EXPECT_EQ(*layer.OutputShape(inputs, TensorFormat::kNCHW), (Shape{6, 3, 4}));
  EXPECT_EQ(layer.MultiplyAdds(inputs, TensorFormat::kNCHW), 3 * 4 * 2 * 5 * 6);
  EXPECT_EQ(layer.SettingsCell(), "heads 2");
}

TEST(WeightedSumLayerTest, SaysWhatItRefuses) {
  const auto error = [](int64_t heads, const std::vector<Shape>& inputs) {
    return std::string(
        WeightedSumLayer(heads).OutputShape(inputs, TensorFormat::kNHWC).status().message());
  };
  EXPECT_EQ(error(1, {{3, 4, 6}}), "needs two paths, weights and values, but has 1");
  EXPECT_EQ(error(2, {{3, 4, 12}, {2, 2, 6}}),
            "takes images, the first with a channel for each pixel of the second in 2 heads, which "
            "divide the channels of the second evenly, but has (3, 4, 12) and (2, 2, 6)");
  EXPECT_NE(error(3, {{3, 4, 12}, {2, 2, 5}}), "");
  EXPECT_NE(error(0, {{3, 4, 12}, {2, 2, 6}}), "");
  for (const auto& [weights, values] :
       {std::pair(Shape{6}, Shape{6}), {Shape{6}, Shape{2, 3, 6}}, {Shape{2, 3, 6}, Shape{6}}}) {
    EXPECT_EQ(error(1, {weights, values}),
              "takes images, the first with a channel for each pixel of the second in 1 heads, "
              "which divide the channels of the second evenly, but has " +
                  weights.ToString() + " and " + values.ToString());
  }
}

}  // namespace
}  // namespace dtnn
