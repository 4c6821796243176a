#include "layers/conv2d.h"

#include "gtest/gtest.h"
#include "layers/testing/gradient_check.h"

namespace dtnn {
namespace {

using ::dtnn::testing::CheckGradients;

class Conv2dLayerTest : public ::testing::TestWithParam<TensorFormat> {
 protected:
  Shape Sample(int64_t h, int64_t w, int64_t c) { return SampleShape({h, w, c}, GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Formats, Conv2dLayerTest,
                         ::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW));

TEST_P(Conv2dLayerTest, Gradients) {
  EXPECT_TRUE(CheckGradients(Conv2dLayer(4, {.padding = 1}), {Sample(5, 6, 3)}, GetParam()));
  EXPECT_TRUE(CheckGradients(Conv2dLayer(2, {.kernel = 1, .stride = 2, .bias = false}),
                             {Sample(5, 4, 2)}, GetParam()));
  EXPECT_TRUE(CheckGradients(
      Conv2dLayer(3, {.kernel = {2, 3}, .stride = {1, 2}, .padding = {2, 1}, .dilation = {2, 1}}),
      {Sample(6, 7, 1)}, GetParam()));
}

TEST_P(Conv2dLayerTest, ParametersAreCountedAndInitialisedByFans) {
  const Shape input = Sample(32, 32, 3);
  const auto parameters = Conv2dLayer(64, {}).Parameters({&input, 1}, GetParam());
  ASSERT_EQ(parameters.size(), 2u);
  EXPECT_EQ(parameters[0].name, "weights");
  EXPECT_EQ(parameters[0].shape,
            GetParam() == TensorFormat::kNHWC ? (Shape{3, 3, 3, 64}) : (Shape{64, 3, 3, 3}));
  EXPECT_EQ(parameters[0].initializer.fan_in, 27);
  EXPECT_EQ(parameters[0].initializer.fan_out, 576);
  EXPECT_EQ(parameters[1].name, "biases");
  EXPECT_EQ(parameters[1].shape, Shape{64});
}

TEST_P(Conv2dLayerTest, RefusesWhatDoesNotFit) {
  const Shape small = Sample(2, 2, 1), vector = Shape{10};
  EXPECT_FALSE(Conv2dLayer(4, {}).OutputShape({&small, 1}, GetParam()).ok());
  EXPECT_FALSE(Conv2dLayer(4, {}).OutputShape({&vector, 1}, GetParam()).ok());
  EXPECT_FALSE(Conv2dLayer(0, {.padding = 1}).OutputShape({&small, 1}, GetParam()).ok());
}

TEST(Conv2dLayerCellTest, ShowsTheGeometry) {
  EXPECT_EQ(Conv2dLayer(4, {.stride = {2, 1}, .padding = 1}).SettingsCell(),
            "padd=(1,1), stride=(2,1), dilat=(1,1)");
}

}  // namespace
}  // namespace dtnn
