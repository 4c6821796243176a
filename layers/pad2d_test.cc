#include "layers/pad2d.h"

#include <string>

#include "gtest/gtest.h"
#include "layers/testing/gradient_check.h"

namespace dtnn {
namespace {

TEST(Pad2dLayerTest, Gradients) {
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    const Shape image = SampleShape({3, 4, 2}, format);
    for (const PadMode mode : {PadMode::kConstant, PadMode::kReflect, PadMode::kEdge}) {
      const Pad2dLayer layer({.before = {2, 0}, .after = {1, 3}, .mode = mode, .value = 0.5});
      EXPECT_TRUE(testing::CheckGradients(layer, {image}, format)) << Name(mode);
    }
  }
}

TEST(Pad2dLayerTest, TheOutputIsLarger) {
  const Pad2dLayer layer({.before = {1, 2}, .after = {3, 4}, .value = 0.5});
  const Shape image{5, 6, 7};
  EXPECT_EQ(*layer.OutputShape({&image, 1}, TensorFormat::kNHWC), (Shape{9, 12, 7}));
  EXPECT_EQ(*layer.OutputShape({&image, 1}, TensorFormat::kNCHW), (Shape{5, 10, 13}));
  EXPECT_EQ(layer.SettingsCell(), "top 1, bottom 3, left 2, right 4, constant 0.5");
  EXPECT_EQ(Pad2dLayer({.mode = PadMode::kEdge}).SettingsCell(),
            "top 0, bottom 0, left 0, right 0, edge");
}

TEST(Pad2dLayerTest, SaysWhatItRefuses) {
  const auto error = [](const Pad2dOptions& options, const Shape& input) {
    return std::string(
        Pad2dLayer(options).OutputShape({&input, 1}, TensorFormat::kNHWC).status().message());
  };
  EXPECT_EQ(error({.before = {-1, 0}}, {2, 2, 1}), "pad: -1 rows or columns, expected 0 to 2^24");
  EXPECT_NE(error({.before = {2, 0}, .mode = PadMode::kReflect}, {2, 2, 1}), "");
  EXPECT_NE(error({}, {4}), "");
}

}  // namespace
}  // namespace dtnn
