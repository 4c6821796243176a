#include "layers/softmax.h"

#include "gtest/gtest.h"
#include "layers/testing/gradient_check.h"

namespace dtnn {
namespace {

TEST(SoftmaxLayerTest, Gradients) {
  EXPECT_TRUE(testing::CheckGradients(SoftmaxLayer(), {Shape{10}}, TensorFormat::kNHWC));
  EXPECT_TRUE(testing::CheckGradients(SoftmaxLayer(), {Shape{1}}, TensorFormat::kNCHW));
}

TEST(SoftmaxLayerTest, NeedsAVector) {
  const Shape image{2, 2, 1};
  EXPECT_FALSE(SoftmaxLayer().OutputShape({&image, 1}, TensorFormat::kNHWC).ok());
}

}  // namespace
}  // namespace dtnn
