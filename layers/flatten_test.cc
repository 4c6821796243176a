#include "layers/flatten.h"

#include "gtest/gtest.h"
#include "layers/testing/gradient_check.h"

namespace dtnn {
namespace {

TEST(FlattenLayerTest, Gradients) {
  EXPECT_TRUE(testing::CheckGradients(FlattenLayer(), {Shape{3, 4, 2}}, TensorFormat::kNHWC));
}

TEST(FlattenLayerTest, CountsTheElements) {
  const Shape image{14, 14, 8};
  EXPECT_EQ(*FlattenLayer().OutputShape({&image, 1}, TensorFormat::kNHWC), Shape{1568});
}

}  // namespace
}  // namespace dtnn
