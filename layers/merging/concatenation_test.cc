#include "layers/merging/concatenation.h"

#include "gtest/gtest.h"
#include "layers/testing/gradient_check.h"

namespace dtnn {
namespace {

using ::dtnn::testing::CheckGradients;

TEST(ConcatenationLayerTest, Gradients) {
  for (TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    EXPECT_TRUE(CheckGradients(ConcatenationLayer(),
                               {SampleShape({3, 4, 2}, format), SampleShape({3, 4, 5}, format),
                                SampleShape({3, 4, 1}, format)},
                               format));
  }
}

TEST(ConcatenationLayerTest, AddsUpTheChannels) {
  const Shape inputs[] = {Shape{2, 3, 4}, Shape{5, 3, 4}};
  EXPECT_EQ(*ConcatenationLayer().OutputShape(inputs, TensorFormat::kNCHW), (Shape{7, 3, 4}));
}

TEST(ConcatenationLayerTest, RefusesMapsOfDifferentSizes) {
  const Shape inputs[] = {Shape{3, 4, 2}, Shape{3, 5, 2}};
  EXPECT_EQ(ConcatenationLayer().OutputShape(inputs, TensorFormat::kNHWC).status().message(),
            "concatenates maps of one size, but has (3, 4, 2) and (3, 5, 2)");
}

}  // namespace
}  // namespace dtnn
