#include "layers/pixels/scale.h"

#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "layers/testing/evaluate.h"
#include "layers/testing/gradient_check.h"

namespace dtnn {
namespace {

using ::dtnn::testing::CheckGradients;
using ::dtnn::testing::Evaluated;
using ::dtnn::testing::IntegerTensor;
using ::dtnn::testing::Values;

class ScaleLayerTest : public ::testing::TestWithParam<TensorFormat> {
 protected:
  static Shape Sample(int64_t h, int64_t w, int64_t c) {
    return SampleShape({h, w, c}, GetParam());
  }
};
INSTANTIATE_TEST_SUITE_P(Formats, ScaleLayerTest,
                         ::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW));

TEST_P(ScaleLayerTest, Gradients) {
  EXPECT_TRUE(CheckGradients(ScaleLayer(-1.5), {Sample(2, 3, 5)}, GetParam()));
  EXPECT_TRUE(CheckGradients(ScaleLayer(0), {Sample(1, 1, 1)}, GetParam()));
}

TEST_P(ScaleLayerTest, EachElementIsMultiplied) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kBfloat16}) {
    const Tensor x = IntegerTensor(dtype, Sample(3, 5, 7).Prepend(3), 1);
    std::vector<double> expected = Values(x, GetParam());
    for (double& value : expected) value *= -0.375;
    EXPECT_EQ(Evaluated(ScaleLayer(-0.375), x, GetParam()), expected) << Name(dtype);
  }
}

TEST_P(ScaleLayerTest, ShapesAndRefusals) {
  const Shape image = Sample(4, 5, 6), vector = {10};
  EXPECT_EQ(*ScaleLayer(2).OutputShape({&image, 1}, GetParam()), image);
  EXPECT_EQ(ScaleLayer(0.5).SettingsCell(), "factor 0.5");
  EXPECT_NE(ScaleLayer(2).OutputShape({&vector, 1}, GetParam()).status().message(), "");
  for (const double factor :
       {1e300, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_NE(ScaleLayer(factor).OutputShape({&image, 1}, GetParam()).status(), absl::OkStatus());
  }
  EXPECT_EQ(ScaleLayer(-1e39).OutputShape({&image, 1}, GetParam()).status().message(),
            "factor is -1e+39, expected a number that a float can be");
}

}  // namespace
}  // namespace dtnn
