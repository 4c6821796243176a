#include "layers/fc.h"

#include "gtest/gtest.h"
#include "layers/testing/gradient_check.h"

namespace dtnn {
namespace {

using ::dtnn::testing::CheckGradients;

TEST(FcLayerTest, Gradients) {
  EXPECT_TRUE(CheckGradients(FcLayer(4), {Shape{7}}, TensorFormat::kNHWC));
  EXPECT_TRUE(CheckGradients(FcLayer(17), {Shape{1}}, TensorFormat::kNCHW, /*batch=*/1));
}

TEST(FcLayerTest, WithoutBiasItStillMultiplies) {
  EXPECT_TRUE(CheckGradients(FcLayer(4, {.bias = false}), {Shape{7}}, TensorFormat::kNHWC));
}

TEST(FcLayerTest, AsksForAFlattenInFront) {
  const Shape image{2, 2, 1};
  const absl::Status status = FcLayer(3).OutputShape({&image, 1}, TensorFormat::kNHWC).status();
  EXPECT_EQ(status.message(),
            "needs a vector, not a sample of shape (2, 2, 1); put a Flatten before it");
}

}  // namespace
}  // namespace dtnn
