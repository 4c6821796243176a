#include "layers/pixels/class_token.h"

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

class ClassTokenLayerTest : public ::testing::TestWithParam<TensorFormat> {
 protected:
  static Shape Sample(int64_t h, int64_t w, int64_t c) {
    return SampleShape({h, w, c}, GetParam());
  }
};
INSTANTIATE_TEST_SUITE_P(Formats, ClassTokenLayerTest,
                         ::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW));

TEST_P(ClassTokenLayerTest, Gradients) {
  EXPECT_TRUE(CheckGradients(ClassTokenLayer(), {Sample(2, 3, 5)}, GetParam()));
  EXPECT_TRUE(CheckGradients(ClassTokenLayer(), {Sample(1, 1, 3)}, GetParam()));
  EXPECT_TRUE(CheckGradients(ClassTokenLayer(3), {Sample(2, 3, 5)}, GetParam()));
  EXPECT_TRUE(CheckGradients(ClassTokenLayer(), {Sample(3, 1, 1)}, GetParam(), /*batch=*/1));
}

// Two samples of 1 x 2 pixels with 3 channels.
TEST_P(ClassTokenLayerTest, TheTokenIsBeforeThePixelsOfEachSample) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kBfloat16}) {
    const DType wide = dtype == DType::kFloat64 ? dtype : DType::kFloat32;
    const Tensor token = TensorOf(wide, {3}, {7, 8, 9});
    const Tensor x = TensorOf(dtype, Sample(1, 2, 3).Prepend(2),
                              {1, 2, 3, 4, 5, 6,  //
                               -1, -2, -3, -4, -5, -6});
    const std::vector<double> expected =
        GetParam() == TensorFormat::kNHWC ? std::vector<double>{7, 8, 9, 1,  2,  3,  4,  5,  6,  //
                                                                7, 8, 9, -1, -2, -3, -4, -5, -6}
                                          : std::vector<double>{7, 1,  2,  8, 3,  4,  9, 5,  6,  //
                                                                7, -1, -2, 8, -3, -4, 9, -5, -6};
    EXPECT_EQ(Evaluated(ClassTokenLayer(), x, GetParam(), {token}), expected) << Name(dtype);
  }
}

// One sample of a pixel with 2 channels.
TEST_P(ClassTokenLayerTest, SeveralTokensHaveTheirOrder) {
  const Tensor tokens = TensorOf(DType::kFloat32, {6}, {1, 2, 3, 4, 5, 6}),
               x = TensorOf(DType::kFloat32, Sample(1, 1, 2).Prepend(1), {8, 9});
  EXPECT_EQ(Evaluated(ClassTokenLayer(3), x, GetParam(), {tokens}),
            GetParam() == TensorFormat::kNHWC ? (std::vector<double>{1, 2, 3, 4, 5, 6, 8, 9})
                                              : (std::vector<double>{1, 3, 5, 8, 2, 4, 6, 9}));
}

TEST_P(ClassTokenLayerTest, ShapesAndRefusals) {
  const Shape image = Sample(4, 5, 6), vector = {10};
  EXPECT_EQ(*ClassTokenLayer().OutputShape({&image, 1}, GetParam()), Sample(1, 21, 6));
  EXPECT_EQ(ClassTokenLayer().Parameters({&image, 1}, GetParam())[0].shape, Shape{6});
  EXPECT_EQ(*ClassTokenLayer(2).OutputShape({&image, 1}, GetParam()), Sample(1, 22, 6));
  EXPECT_EQ(ClassTokenLayer(2).Parameters({&image, 1}, GetParam())[0].shape, Shape{12});
  EXPECT_EQ(ClassTokenLayer(2).SettingsCell(), "2 tokens");
  EXPECT_EQ(ClassTokenLayer(0).OutputShape({&image, 1}, GetParam()).status().message(),
            "count is 0, expected 1 to 65536");
  EXPECT_NE(ClassTokenLayer().OutputShape({&vector, 1}, GetParam()).status().message(), "");
}

}  // namespace
}  // namespace dtnn
