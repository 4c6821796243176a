#include "optim/metrics/pixel_rows.h"

#include <vector>

#include "gtest/gtest.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::TensorOf;
using testing::Values;
using Doubles = std::vector<double>;

// Two images of 1 x 2 pixels and 3 classes: class c of pixel p of image n is 100 n + 10 p + c.
Tensor Predictions(TensorFormat format) {
  if (format == TensorFormat::kNHWC) {
    return TensorOf(DType::kFloat32, {2, 1, 2, 3},
                    {0, 1, 2, 10, 11, 12, 100, 101, 102, 110, 111, 112});
  }
  return TensorOf(DType::kFloat32, {2, 3, 1, 2},
                  {0, 10, 1, 11, 2, 12, 100, 110, 101, 111, 102, 112});
}

TEST(PixelRowsTest, EachLabelledPixelIsARowInBothFormats) {
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    const Tensor some = TensorOf(DType::kInt32, {2, 1, 2}, {2, -1, -1, 0});
    const PixelRows rows = *LabelledPixels(Predictions(format), some, format);
    EXPECT_EQ(rows.count, 2);
    EXPECT_EQ(rows.predictions.shape(), (Shape{2, 3}));
    EXPECT_EQ(Values(rows.predictions), (Doubles{0, 1, 2, 110, 111, 112}));
    EXPECT_EQ(Values(rows.targets), (Doubles{2, 0}));
    const Tensor all = TensorOf(DType::kInt32, {2, 1, 2}, {2, 1, 1, 0});
    const PixelRows every = *LabelledPixels(Predictions(format), all, format);
    EXPECT_EQ(Values(every.predictions),
              (Doubles{0, 1, 2, 10, 11, 12, 100, 101, 102, 110, 111, 112}));
    EXPECT_EQ(Values(every.targets), (Doubles{2, 1, 1, 0}));
  }
}

TEST(PixelRowsTest, TheLastPixelOfTheLastImageCounts) {
  const Tensor predictions = testing::IntegerTensor(DType::kFloat32, {3, 1, 4, 2}, 1);
  std::vector<double> labels(12, -1);
  labels.back() = 1;
  const PixelRows rows =
      *LabelledPixels(predictions, TensorOf(DType::kInt32, {3, 1, 4}, labels), TensorFormat::kNHWC);
  EXPECT_EQ(rows.count, 1);
  const Doubles all = Values(predictions);
  EXPECT_EQ(Values(rows.predictions), Doubles(all.end() - 2, all.end()));
  EXPECT_EQ(Values(rows.targets), Doubles{1});
}

TEST(PixelRowsTest, ThereMayBeNone) {
  const Tensor none = TensorOf(DType::kInt32, {2, 1, 2}, {-1, -1, -1, -1});
  const PixelRows rows =
      *LabelledPixels(Predictions(TensorFormat::kNHWC), none, TensorFormat::kNHWC);
  EXPECT_EQ(rows.count, 0);
  EXPECT_TRUE(rows.predictions.empty());
}

}  // namespace
}  // namespace dtnn
