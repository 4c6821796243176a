#include "layers/input.h"

#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(InputLayerTest, ShapeFollowsTheFormat) {
  const InputLayer input({28, 20, 3});
  EXPECT_EQ(*input.OutputShape({}, TensorFormat::kNHWC), (Shape{28, 20, 3}));
  EXPECT_EQ(*input.OutputShape({}, TensorFormat::kNCHW), (Shape{3, 28, 20}));
}

TEST(InputLayerTest, RefusesEmptySamples) {
  EXPECT_EQ(InputLayer({28, 0, 1}).OutputShape({}, TensorFormat::kNHWC).status().message(),
            "a sample needs positive extents, not 28x0x1");
}

}  // namespace
}  // namespace dtnn
