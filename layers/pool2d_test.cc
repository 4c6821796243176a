#include "layers/pool2d.h"

#include "gtest/gtest.h"
#include "layers/testing/gradient_check.h"

namespace dtnn {
namespace {

using ::dtnn::testing::CheckGradients;

class Pool2dLayerTest : public ::testing::TestWithParam<std::tuple<PoolKind, TensorFormat>> {
 protected:
  PoolKind kind() const { return std::get<0>(GetParam()); }
  TensorFormat format() const { return std::get<1>(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(KindsAndFormats, Pool2dLayerTest,
                         ::testing::Combine(::testing::Values(PoolKind::kMax, PoolKind::kAverage),
                                            ::testing::Values(TensorFormat::kNHWC,
                                                              TensorFormat::kNCHW)));

TEST_P(Pool2dLayerTest, Gradients) {
  const Shape image = SampleShape({6, 5, 3}, format());
  EXPECT_TRUE(CheckGradients(Pool2dLayer(kind(), {.stride = 2}), {image}, format()));
  EXPECT_TRUE(CheckGradients(Pool2dLayer(kind(), {.window = 3, .padding = 1}), {image}, format()));
  EXPECT_TRUE(CheckGradients(Pool2dLayer(kind(), {.window = {2, 1}, .stride = 3, .dilation = 2}),
                             {image}, format()));
  EXPECT_TRUE(CheckGradients(Pool2dLayer(kind(), {.window = 3, .stride = 2, .ceil = true}), {image},
                             format()));
}

TEST_P(Pool2dLayerTest, MeansMayCountPadding) {
  const Shape image = SampleShape({6, 5, 3}, format());
  const Pool2dLayer layer(kind(), {.window = 3, .padding = 1, .count_padding = true});
  if (kind() == PoolKind::kAverage) {
    EXPECT_TRUE(CheckGradients(layer, {image}, format()));
  } else {
    EXPECT_EQ(layer.OutputShape({&image, 1}, format()).status().message(),
              "pool: a maximum does not count padding; that is for means");
  }
}

TEST_P(Pool2dLayerTest, WindowOfZeroIsGlobal) {
  const Shape image = SampleShape({6, 5, 3}, format());
  const Pool2dLayer global(kind(), {.window = 0});
  EXPECT_EQ(*global.OutputShape({&image, 1}, format()), SampleShape({1, 1, 3}, format()));
  EXPECT_EQ(global.WeightsCell({&image, 1}, format()), "(6, 5)");
  EXPECT_TRUE(CheckGradients(global, {image}, format()));
}

TEST_P(Pool2dLayerTest, RefusesAnEmptyOutput) {
  const Shape image = SampleShape({2, 2, 1}, format());
  EXPECT_FALSE(Pool2dLayer(kind(), {.window = 3}).OutputShape({&image, 1}, format()).ok());
}

}  // namespace
}  // namespace dtnn
