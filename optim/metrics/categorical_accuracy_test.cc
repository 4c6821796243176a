#include "optim/metrics/categorical_accuracy.h"

#include "gtest/gtest.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::TensorOf;

TEST(CategoricalAccuracyTest, CountsTheArgmax) {
  const Tensor p =
      TensorOf(DType::kFloat32, Shape{4, 3}, {.1, .2, .7, .5, .3, .2, .1, .8, .1, .4, .4, .2});
  const CategoricalAccuracy accuracy;
  double sum = 0;
  accuracy.Add(p, TensorOf(DType::kInt32, Shape{4}, {2, 0, 1, 0}), {&sum, 1});
  EXPECT_EQ(sum, 400);
  accuracy.Add(p, TensorOf(DType::kInt32, Shape{4}, {2, 1, 0, 1}), {&sum, 1});
  EXPECT_EQ(sum, 500);
  EXPECT_EQ(accuracy.Value({&sum, 1}, 8), 62.5);
}

TEST(CategoricalAccuracyTest, RowsMayBeApart) {
  const Tensor wide = TensorOf(DType::kFloat32, Shape{2, 4}, {.1, .2, .3, .9, .8, .1, .3, .9});
  double sum = 0;
  CategoricalAccuracy().Add(wide.Channels(0, 2, TensorFormat::kNHWC),
                            TensorOf(DType::kInt32, Shape{2}, {1, 0}), {&sum, 1});
  EXPECT_EQ(sum, 200);
}

TEST(CategoricalAccuracyTest, PrintsAPercentage) {
  EXPECT_EQ(CategoricalAccuracy().Format("val_", 88.951), "val_acc: 88.95%");
  EXPECT_EQ(CategoricalAccuracy().Format("", 5.0), "acc:  5.00%");
}

}  // namespace
}  // namespace dtnn
