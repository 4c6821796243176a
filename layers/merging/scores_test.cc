#include "layers/merging/scores.h"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "layers/testing/gradient_check.h"

namespace dtnn {
namespace {

using ::dtnn::testing::CheckGradients;

TEST(ScoresLayerTest, Gradients) {
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    const Shape queries = SampleShape({2, 3, 4}, format), keys = SampleShape({1, 5, 4}, format);
    EXPECT_TRUE(CheckGradients(ScoresLayer(), {queries, keys}, format));
    EXPECT_TRUE(CheckGradients(ScoresLayer({.heads = 2, .factor = 0.7}), {queries, keys}, format));
    EXPECT_TRUE(CheckGradients(ScoresLayer({.heads = 4}), {keys, keys}, format));
  }
}

TEST(ScoresLayerTest, AChannelForEachPixelOfTheKeys) {
  const ScoresLayer layer({.heads = 2, .factor = 0.5});
  const std::vector<Shape> inputs = {{3, 4, 6}, {2, 5, 6}};
  EXPECT_EQ(*layer.OutputShape(inputs, TensorFormat::kNHWC), (Shape{3, 4, 20}));
  EXPECT_EQ(layer.MultiplyAdds(inputs, TensorFormat::kNHWC), 3 * 4 * 2 * 5 * 6);
  const Shape large = {1 << 23, 1 << 23, 2};
  EXPECT_EQ(layer.MultiplyAdds(std::vector<Shape>{large, large}, TensorFormat::kNHWC), INT64_MAX);
  EXPECT_EQ(layer.SettingsCell(), "heads 2, factor 0.5");
}

TEST(ScoresLayerTest, SaysWhatItRefuses) {
  const auto error = [](const ScoresOptions& options, const std::vector<Shape>& inputs) {
    return std::string(
        ScoresLayer(options).OutputShape(inputs, TensorFormat::kNHWC).status().message());
  };
  EXPECT_EQ(error({}, {{3, 4, 6}}), "needs two paths, queries and keys, but has 1");
  EXPECT_EQ(error({.heads = 4}, {{3, 4, 6}, {3, 4, 6}}),
            "takes images of the same channels, which 4 heads divide evenly, but has (3, 4, 6) and "
            "(3, 4, 6)");
  EXPECT_NE(error({}, {{3, 4, 6}, {3, 4, 5}}), "");
  for (const auto& [queries, keys] :
       {std::pair(Shape{6}, Shape{6}), {Shape{6}, Shape{3, 4, 6}}, {Shape{3, 4, 6}, Shape{6}}}) {
    EXPECT_EQ(error({}, {queries, keys}),
              "takes images of the same channels, which 1 heads divide evenly, but has " +
                  queries.ToString() + " and " + keys.ToString());
  }
  EXPECT_NE(error({.heads = 0}, {{3, 4, 6}, {3, 4, 6}}), "");
  EXPECT_EQ(error({.factor = std::numeric_limits<double>::infinity()}, {{3, 4, 6}, {3, 4, 6}}),
            "factor is inf, expected a finite number");
}

}  // namespace
}  // namespace dtnn
