#include "layers/pixels/pixel_slice.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "layers/testing/evaluate.h"
#include "layers/testing/gradient_check.h"

namespace dtnn {
namespace {

using ::dtnn::testing::CheckGradients;
using ::dtnn::testing::Evaluated;
using ::dtnn::testing::TensorOf;

class PixelSliceLayerTest : public ::testing::TestWithParam<TensorFormat> {
 protected:
  static Shape Sample(int64_t h, int64_t w, int64_t c) {
    return SampleShape({h, w, c}, GetParam());
  }
  static std::string Refusal(int64_t begin, int64_t count, const Shape& input) {
    return std::string(
        PixelSliceLayer(begin, count).OutputShape({&input, 1}, GetParam()).status().message());
  }
};
INSTANTIATE_TEST_SUITE_P(Formats, PixelSliceLayerTest,
                         ::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW));

TEST_P(PixelSliceLayerTest, Gradients) {
  EXPECT_TRUE(CheckGradients(PixelSliceLayer(0, 1), {Sample(2, 3, 5)}, GetParam()));
  EXPECT_TRUE(CheckGradients(PixelSliceLayer(2, 3), {Sample(2, 3, 5)}, GetParam()));
  EXPECT_TRUE(CheckGradients(PixelSliceLayer(0, 6), {Sample(2, 3, 1)}, GetParam()));
}

// Two samples of 2 x 2 pixels with 2 channels.
TEST_P(PixelSliceLayerTest, PixelsAreCountedRowByRow) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kBfloat16}) {
    const Tensor x = TensorOf(dtype, Sample(2, 2, 2).Prepend(2),
                              {1, 2, 3, 4, 5, 6, 7, 8,  //
                               -1, -2, -3, -4, -5, -6, -7, -8});
    const std::vector<double> expected = GetParam() == TensorFormat::kNHWC
                                             ? std::vector<double>{3, 4, 5, 6, -3, -4, -5, -6}
                                             : std::vector<double>{2, 3, 6, 7, -2, -3, -6, -7};
    EXPECT_EQ(Evaluated(PixelSliceLayer(1, 2), x, GetParam()), expected) << Name(dtype);
  }
}

TEST_P(PixelSliceLayerTest, TheOutputHasThePixelsAskedFor) {
  const Shape image = Sample(4, 5, 6);
  EXPECT_EQ(*PixelSliceLayer(4, 3).OutputShape({&image, 1}, GetParam()), Sample(1, 3, 6));
  EXPECT_EQ(PixelSliceLayer(4, 3).SettingsCell(), "pixels 4 to 6");
  EXPECT_EQ(PixelSliceLayer(4, 1).SettingsCell(), "pixel 4");
}

TEST_P(PixelSliceLayerTest, SaysWhatItRefuses) {
  EXPECT_EQ(Refusal(5, 2, Sample(2, 3, 9)), "takes 2 pixels from pixel 5 on of an image of 6");
  EXPECT_EQ(Refusal(-1, 2, Sample(2, 3, 9)), "takes 2 pixels from pixel -1 on of an image of 6");
  EXPECT_EQ(Refusal(6, 1, Sample(2, 3, 9)), "takes 1 pixels from pixel 6 on of an image of 6");
  EXPECT_EQ(Refusal(0, 0, Sample(2, 3, 9)), "takes 0 pixels from pixel 0 on of an image of 6");
  EXPECT_NE(Refusal(0, 1, Shape{10}), "");
}

}  // namespace
}  // namespace dtnn
