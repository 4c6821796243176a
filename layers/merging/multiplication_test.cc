#include "layers/merging/multiplication.h"

#include <vector>

#include "gtest/gtest.h"
#include "layers/testing/gradient_check.h"

namespace dtnn {
namespace {

using ::dtnn::testing::CheckGradients;

TEST(MultiplicationLayerTest, Gradients) {
  const MultiplicationLayer layer;
  EXPECT_TRUE(CheckGradients(layer, {Shape{3, 5, 2}, Shape{1, 1, 2}}, TensorFormat::kNHWC));
  EXPECT_TRUE(CheckGradients(layer, {Shape{2, 3, 5}, Shape{2, 1, 1}}, TensorFormat::kNCHW));
  EXPECT_TRUE(CheckGradients(layer, {Shape{1, 1, 3}, Shape{1, 1, 3}}, TensorFormat::kNHWC));
}

TEST(MultiplicationLayerTest, NeedsAnImageAndFactors) {
  const MultiplicationLayer layer;
  const auto shape = [&](const std::vector<Shape>& inputs, TensorFormat format) {
    return layer.OutputShape(inputs, format);
  };
  EXPECT_EQ(*shape({{3, 5, 2}, {1, 1, 2}}, TensorFormat::kNHWC), (Shape{3, 5, 2}));
  EXPECT_EQ(shape({{3, 5, 2}, {1, 1, 2}}, TensorFormat::kNCHW).status().message(),
            "multiplies an image by a factor for each channel, an image of one pixel, but has "
            "(3, 5, 2) and (1, 1, 2)");
  EXPECT_FALSE(shape({{4}, {4}}, TensorFormat::kNHWC).ok());
  EXPECT_EQ(shape({{3, 5, 2}}, TensorFormat::kNHWC).status().message(),
            "needs two paths, an image and its factors, but has 1");
}

}  // namespace
}  // namespace dtnn
