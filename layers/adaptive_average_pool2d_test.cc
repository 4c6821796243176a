#include "layers/adaptive_average_pool2d.h"

#include "gtest/gtest.h"
#include "layers/testing/gradient_check.h"

namespace dtnn {
namespace {

using ::dtnn::testing::CheckGradients;

class AdaptiveAveragePool2dLayerTest : public ::testing::TestWithParam<TensorFormat> {
 protected:
  Shape Sample(int64_t h, int64_t w, int64_t c) { return SampleShape({h, w, c}, GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Formats, AdaptiveAveragePool2dLayerTest,
                         ::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW));

TEST_P(AdaptiveAveragePool2dLayerTest, Gradients) {
  for (const Pair output : {Pair(1), Pair(3), Pair(4, 2), Pair(8, 9)}) {
    EXPECT_TRUE(CheckGradients(AdaptiveAveragePool2dLayer(output), {Sample(6, 5, 3)}, GetParam()));
  }
}

TEST_P(AdaptiveAveragePool2dLayerTest, TheOutputHasTheSizeAskedFor) {
  const AdaptiveAveragePool2dLayer layer(Pair(7, 6));
  for (const int64_t extent : {1, 7, 30}) {
    const Shape image = Sample(extent, extent + 1, 3);
    EXPECT_EQ(*layer.OutputShape({&image, 1}, GetParam()), Sample(7, 6, 3));
    EXPECT_EQ(layer.WeightsCell({&image, 1}, GetParam()), "(7, 6)");
  }
}

TEST_P(AdaptiveAveragePool2dLayerTest, RefusesAnEmptyOutputAndVectors) {
  const Shape image = Sample(2, 2, 1), vector = Shape{10};
  EXPECT_FALSE(AdaptiveAveragePool2dLayer(Pair(0, 1)).OutputShape({&image, 1}, GetParam()).ok());
  EXPECT_FALSE(AdaptiveAveragePool2dLayer(1).OutputShape({&vector, 1}, GetParam()).ok());
}

}  // namespace
}  // namespace dtnn
