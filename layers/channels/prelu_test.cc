#include "layers/channels/prelu.h"

#include "gtest/gtest.h"
#include "layers/testing/gradient_check.h"

namespace dtnn {
namespace {

using ::dtnn::testing::CheckGradients;

TEST(PReluLayerTest, Gradients) {
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    for (const bool per_channel : {false, true}) {
      const PReluLayer layer(per_channel);
      EXPECT_TRUE(CheckGradients(layer, {SampleShape({2, 3, 5}, format)}, format));
      EXPECT_TRUE(CheckGradients(layer, {SampleShape({3, 2, 1}, format)}, format));
      EXPECT_TRUE(CheckGradients(layer, {Shape{7}}, format));
    }
  }
}

TEST(PReluLayerTest, SlopesOfPyTorchForEachChannelOrOneForAll) {
  const Shape image = {4, 5, 6}, vector = {10};
  const auto spec = [](const PReluLayer& layer, const Shape& shape, TensorFormat format) {
    return layer.Parameters({&shape, 1}, format)[0];
  };
  const PReluLayer each(true), one(false);
  EXPECT_EQ(spec(each, image, TensorFormat::kNHWC).shape, Shape{6});
  EXPECT_EQ(spec(each, image, TensorFormat::kNCHW).shape, Shape{4});
  EXPECT_EQ(spec(each, vector, TensorFormat::kNCHW).shape, Shape{10});
  EXPECT_EQ(spec(one, image, TensorFormat::kNCHW).shape, Shape{1});
  EXPECT_EQ(spec(one, vector, TensorFormat::kNCHW).layout, ParameterLayout::kFixed);
  EXPECT_EQ(spec(each, vector, TensorFormat::kNCHW).layout, ParameterLayout::kFeatures);
  EXPECT_EQ(spec(each, image, TensorFormat::kNHWC).initializer.Limit(), 0.25);
  EXPECT_EQ(each.SettingsCell(), "");
  EXPECT_EQ(one.SettingsCell(), "one slope");
  const Shape two[] = {vector, vector};
  EXPECT_FALSE(each.OutputShape(two, TensorFormat::kNHWC).ok());
}

}  // namespace
}  // namespace dtnn
