#include "layers/upsampling/upsample2d.h"

#include <string>

#include "gtest/gtest.h"
#include "layers/testing/gradient_check.h"

namespace dtnn {
namespace {

using ::dtnn::testing::CheckGradients;

class Upsample2dLayerTest : public ::testing::TestWithParam<TensorFormat> {
 protected:
  Shape Sample(int64_t h, int64_t w, int64_t c) { return SampleShape({h, w, c}, GetParam()); }
  std::string Refusal(const Upsample2dOptions& options, const Shape& input) {
    return std::string(
        Upsample2dLayer(options).OutputShape({&input, 1}, GetParam()).status().message());
  }
};
INSTANTIATE_TEST_SUITE_P(Formats, Upsample2dLayerTest,
                         ::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW));

TEST_P(Upsample2dLayerTest, Gradients) {
  for (const Pair scale : {Pair(1), Pair(2), Pair(3, 2)}) {
    for (const auto& [mode, corners] :
         {std::pair(ResizeMode::kNearest, false), std::pair(ResizeMode::kLinear, false),
          std::pair(ResizeMode::kLinear, true)}) {
      EXPECT_TRUE(
          CheckGradients(Upsample2dLayer({.scale = scale, .mode = mode, .align_corners = corners}),
                         {Sample(3, 4, 2)}, GetParam()))
          << Name(mode);
    }
  }
}

TEST_P(Upsample2dLayerTest, TheOutputIsLargerByTheScale) {
  const Upsample2dLayer layer({.scale = {2, 3}, .mode = ResizeMode::kLinear});
  const Shape image = Sample(4, 5, 6);
  EXPECT_EQ(*layer.OutputShape({&image, 1}, GetParam()), Sample(8, 15, 6));
  EXPECT_EQ(layer.SettingsCell(), "scale=(2, 3), bilinear");
  EXPECT_EQ(Upsample2dLayer({.mode = ResizeMode::kLinear, .align_corners = true}).SettingsCell(),
            "scale=(2, 2), bilinear, align_corners");
}

TEST_P(Upsample2dLayerTest, SaysWhatItRefuses) {
  const Shape image = Sample(2, 2, 1);
  EXPECT_EQ(Refusal({.scale = {2, 0}}, image), "scale is 0, expected 1 to 1024");
  EXPECT_EQ(Refusal({.scale = 1024}, image), "");
  EXPECT_EQ(Refusal({.scale = 1025}, image), "scale is 1025, expected 1 to 1024");
  EXPECT_NE(Refusal({.align_corners = true}, image).find("no corners to align"), std::string::npos);
  EXPECT_NE(Refusal({}, Shape{10}), "");
}

}  // namespace
}  // namespace dtnn
