#include "layers/softmax.h"

#include "gtest/gtest.h"
#include "layers/testing/gradient_check.h"

namespace dtnn {
namespace {

TEST(SoftmaxLayerTest, Gradients) {
  EXPECT_TRUE(testing::CheckGradients(SoftmaxLayer(), {Shape{10}}, TensorFormat::kNHWC));
  EXPECT_TRUE(testing::CheckGradients(SoftmaxLayer(), {Shape{1}}, TensorFormat::kNCHW));
}

TEST(SoftmaxLayerTest, GradientsOverTheChannelsOfImages) {
  EXPECT_TRUE(testing::CheckGradients(SoftmaxLayer(), {Shape{2, 3, 4}}, TensorFormat::kNHWC));
  EXPECT_TRUE(testing::CheckGradients(SoftmaxLayer(), {Shape{4, 2, 3}}, TensorFormat::kNCHW));
}

TEST(SoftmaxLayerTest, TakesVectorsAndImages) {
  const Shape image{2, 2, 1}, vector{7}, matrix{2, 7};
  EXPECT_EQ(*SoftmaxLayer().OutputShape({&image, 1}, TensorFormat::kNHWC), image);
  EXPECT_EQ(*SoftmaxLayer().OutputShape({&vector, 1}, TensorFormat::kNHWC), vector);
  EXPECT_FALSE(SoftmaxLayer().OutputShape({&matrix, 1}, TensorFormat::kNHWC).ok());
}

}  // namespace
}  // namespace dtnn
