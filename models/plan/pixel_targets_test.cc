#include "models/plan/pixel_targets.h"

#include "gtest/gtest.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::TensorOf;

absl::Status Check(const std::vector<double>& labels) {
  return CheckPixelTargets(TensorOf(DType::kInt32, {2, 1, 3}, labels), 2, {1, 3, 4});
}

TEST(PixelTargetsTest, TakesClassesAndIgnoredPixels) {
  EXPECT_EQ(Check({0, 1, 2, 3, -1, -1}), absl::OkStatus());
}

TEST(PixelTargetsTest, NamesThePixel) {
  EXPECT_EQ(Check({0, 1, 2, 3, 4, 0}).message(),
            "the pixel in row 0 and column 1 of sample 1 of the batch has label 4, but the network "
            "has 4 classes (-1: ignored)");
  EXPECT_FALSE(Check({0, 1, -2, 3, 3, 0}).ok());
}

TEST(PixelTargetsTest, NamesTheShape) {
  const Tensor vector = TensorOf(DType::kInt32, {2}, {0, 1});
  EXPECT_EQ(CheckPixelTargets(vector, 2, {1, 3, 4}).message(),
            "a batch of 2 samples came with targets of shape (2,) and type int32; the network "
            "classifies pixels and needs (2, 1, 3) of int32");
  const Tensor bytes = TensorOf(DType::kUint8, {2, 1, 3}, {0, 1, 0, 0, 0, 0});
  EXPECT_FALSE(CheckPixelTargets(bytes, 2, {1, 3, 4}).ok());
}

}  // namespace
}  // namespace dtnn
