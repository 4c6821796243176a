#include "layers/image_fc.h"

#include "gtest/gtest.h"
#include "layers/testing/gradient_check.h"

namespace dtnn {
namespace {

using ::dtnn::testing::CheckGradients;

TEST(ImageFcLayerTest, Gradients) {
  for (TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    EXPECT_TRUE(CheckGradients(ImageFcLayer(5), {SampleShape({3, 2, 4}, format)}, format));
  }
}

TEST(ImageFcLayerTest, ReadsAnImageAsOneVector) {
  const ImageFcLayer layer(5);
  const Shape image = {3, 2, 4}, vector = {24};
  EXPECT_EQ(layer.type_name(), "FC");
  EXPECT_EQ(*layer.OutputShape({&image, 1}, TensorFormat::kNHWC), (Shape{5}));
  EXPECT_EQ(layer.Parameters({&image, 1}, TensorFormat::kNHWC)[0].shape, (Shape{24, 5}));
  EXPECT_EQ(layer.MultiplyAdds({&image, 1}, TensorFormat::kNHWC), 120);
  EXPECT_FALSE(layer.OutputShape({&vector, 1}, TensorFormat::kNHWC).ok());
}

}  // namespace
}  // namespace dtnn
