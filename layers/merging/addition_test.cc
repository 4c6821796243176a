#include "layers/merging/addition.h"

#include "gtest/gtest.h"
#include "layers/testing/gradient_check.h"

namespace dtnn {
namespace {

using ::dtnn::testing::CheckGradients;

TEST(AdditionLayerTest, Gradients) {
  for (TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    const Shape image{3, 4, 2};
    EXPECT_TRUE(CheckGradients(AdditionLayer(), {image}, format));
    EXPECT_TRUE(CheckGradients(AdditionLayer(), {image, image, image}, format));
  }
}

TEST(AdditionLayerTest, NeedsAPath) {
  EXPECT_EQ(AdditionLayer().OutputShape({}, TensorFormat::kNHWC).status().message(),
            "needs at least one path");
}

TEST(AdditionLayerTest, RefusesUnequalShapes) {
  const Shape inputs[] = {Shape{3, 4, 2}, Shape{3, 4, 1}};
  EXPECT_EQ(AdditionLayer().OutputShape(inputs, TensorFormat::kNHWC).status().message(),
            "adds paths of equal shapes, but has (3, 4, 2) and (3, 4, 1)");
}

}  // namespace
}  // namespace dtnn
