#include "layers/slice2d.h"

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

class Slice2dLayerTest : public ::testing::TestWithParam<TensorFormat> {
 protected:
  static Shape Sample(int64_t h, int64_t w, int64_t c) {
    return SampleShape({h, w, c}, GetParam());
  }
};
INSTANTIATE_TEST_SUITE_P(Formats, Slice2dLayerTest,
                         ::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW));

TEST_P(Slice2dLayerTest, Gradients) {
  for (const Slice2dOptions& options : std::vector<Slice2dOptions>{
           {},
           {.begin = {1, 2}, .count = {2, 1}},
           {.begin = {1, 0}, .step = 2},
           {.begin = {0, 1}, .count = {2, 0}, .step = {1, 3}},
       }) {
    EXPECT_TRUE(CheckGradients(Slice2dLayer(options), {Sample(4, 5, 3)}, GetParam()));
  }
}

// Two samples of 2 x 3 pixels with 2 channels.
TEST_P(Slice2dLayerTest, RowsAndColumnsAreTaken) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kBfloat16}) {
    const Tensor x = TensorOf(dtype, Sample(2, 3, 2).Prepend(2),
                              {1,  2,  3,  4,  5,  6,  7,  8,  9,  10,  11,  12,  //
                               -1, -2, -3, -4, -5, -6, -7, -8, -9, -10, -11, -12});
    const std::vector<double> expected = GetParam() == TensorFormat::kNHWC
                                             ? std::vector<double>{7, 8, 11, 12, -7, -8, -11, -12}
                                             : std::vector<double>{4, 6, 10, 12, -4, -6, -10, -12};
    EXPECT_EQ(Evaluated(Slice2dLayer({.begin = {1, 0}, .step = {1, 2}}), x, GetParam()), expected)
        << Name(dtype);
  }
}

TEST_P(Slice2dLayerTest, TheOutputHasTheRowsAndColumnsAskedFor) {
  const Shape image = Sample(7, 8, 6);
  const auto output = [&](const Slice2dOptions& options) {
    return *Slice2dLayer(options).OutputShape({&image, 1}, GetParam());
  };
  EXPECT_EQ(output({}), image);
  EXPECT_EQ(output({.step = 2}), Sample(4, 4, 6));
  EXPECT_EQ(output({.begin = 1, .step = 2}), Sample(3, 4, 6));
  EXPECT_EQ(output({.begin = {6, 1}, .step = INT64_MAX}), Sample(1, 1, 6));
  EXPECT_EQ(output({.begin = {2, 0}, .count = {3, 0}}), Sample(3, 8, 6));
  EXPECT_EQ(Slice2dLayer({.begin = {1, 0}, .count = {3, 0}, .step = {1, 2}}).SettingsCell(),
            "rows from 1 on: 3; columns from 0 on, step 2");
}

TEST_P(Slice2dLayerTest, SaysWhatItRefuses) {
  const auto error = [](const Slice2dOptions& options, const Shape& input) {
    return std::string(
        Slice2dLayer(options).OutputShape({&input, 1}, GetParam()).status().message());
  };
  const Shape image = Sample(4, 5, 1);
  EXPECT_EQ(error({.begin = {4, 0}}, image),
            "slice: 0 rows from number 4 on in steps of 1 are not in an image of 4");
  EXPECT_EQ(error({.begin = {0, 3}, .count = {1, 3}}, image),
            "slice: 3 columns from number 3 on in steps of 1 are not in an image of 5");
  EXPECT_EQ(error({.step = {1, 0}}, image), "slice: a step of 0 columns, expected at least 1");
  EXPECT_NE(error({}, Shape{10}), "");
}

}  // namespace
}  // namespace dtnn
