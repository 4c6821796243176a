// The metrics that need one class per sample and are a mean of something.

#include <cmath>

#include "gtest/gtest.h"
#include "optim/metrics/categorical_hinge.h"
#include "optim/metrics/categorical_mae.h"
#include "optim/metrics/categorical_mse.h"
#include "optim/metrics/top5_accuracy.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::Pitched;
using ::dtnn::testing::TensorOf;

double ValueOf(const Metric& metric, const Tensor& p, const std::vector<double>& classes) {
  double sum = 0;
  metric.Add(p, TensorOf(DType::kInt32, Shape{int64_t(classes.size())}, classes), {&sum, 1});
  return metric.Value({&sum, 1}, int64_t(classes.size()));
}

TEST(CategoricalMetricsTest, GoldenValues) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    const Tensor p = TensorOf(dtype, Shape{1, 3}, {.7, .2, .1});
    EXPECT_NEAR(ValueOf(CategoricalHinge(), p, {0}), 0.5, 1e-7);
    EXPECT_NEAR(ValueOf(CategoricalMse(), p, {0}), 0.09, 1e-7);
    EXPECT_NEAR(ValueOf(CategoricalMae(), p, {0}), 0.3, 1e-7);
  }
}

TEST(CategoricalMetricsTest, AreMeansOverSamplesHoweverTheyLie) {
  const Tensor p = TensorOf(DType::kFloat64, Shape{2, 3}, {.5, .25, .25, .75, 0, .25});
  for (const Tensor& x : {p, Pitched(p, TensorFormat::kNHWC)}) {
    EXPECT_EQ(ValueOf(CategoricalHinge(), x, {0, 2}), (.75 + 1.5) / 2);
    EXPECT_EQ(ValueOf(CategoricalMse(), x, {0, 2}), (.25 + .5625) / 2);
    EXPECT_EQ(ValueOf(CategoricalMae(), x, {0, 2}), (.5 + .75) / 2);
  }
}

TEST(CategoricalMetricsTest, TheHingeIsNeverNegativeAndOthersCountFromZero) {
  EXPECT_EQ(ValueOf(CategoricalHinge(), TensorOf(DType::kFloat64, Shape{1, 2}, {3, 1}), {0}), 0);
  EXPECT_EQ(ValueOf(CategoricalHinge(), TensorOf(DType::kFloat64, Shape{1, 2}, {.5, -4}), {0}), .5);
}

TEST(CategoricalMetricsTest, NanShows) {
  const Tensor p = TensorOf(DType::kFloat64, Shape{1, 3}, {.5, std::nan(""), .5});
  for (const double label : {0, 1}) {
    EXPECT_TRUE(std::isnan(ValueOf(CategoricalHinge(), p, {label}))) << label;
  }
  EXPECT_TRUE(std::isnan(ValueOf(CategoricalMse(), p, {1})));
  EXPECT_TRUE(std::isnan(ValueOf(CategoricalMae(), p, {1})));
}

TEST(Top5AccuracyTest, CountsTheFiveLargest) {
  const Tensor p = TensorOf(DType::kFloat32, Shape{1, 7}, {.1, .2, .3, .4, .5, .6, .7});
  for (const double label : {2, 4, 6}) EXPECT_EQ(ValueOf(Top5Accuracy(), p, {label}), 100);
  for (const double label : {0, 1}) EXPECT_EQ(ValueOf(Top5Accuracy(), p, {label}), 0);
}

TEST(Top5AccuracyTest, TheFirstOfEqualOnesIsLarger) {
  const Tensor p = TensorOf(DType::kFloat32, Shape{1, 7}, {.1, .1, .1, .1, .1, .1, .4});
  EXPECT_EQ(ValueOf(Top5Accuracy(), p, {3}), 100);
  EXPECT_EQ(ValueOf(Top5Accuracy(), p, {4}), 0);
}

TEST(Top5AccuracyTest, FewClassesAreAlwaysRightAndNanNever) {
  const Tensor p = TensorOf(DType::kFloat32, Shape{2, 3}, {1, 0, 0, 0, 1, std::nan("")});
  EXPECT_EQ(ValueOf(Top5Accuracy(), p, {2, 0}), 100);
  EXPECT_EQ(ValueOf(Top5Accuracy(), p, {2, 2}), 50);
}

TEST(CategoricalMetricsTest, PrintedForms) {
  EXPECT_EQ(CategoricalHinge().Format("", 0.5), "hin: 0.5000000");
  EXPECT_EQ(CategoricalMse().Format("val_", 0.09), "val_mse: 0.0900000");
  EXPECT_EQ(CategoricalMae().Format("", 0.3), "mae: 0.3000000");
  EXPECT_EQ(Top5Accuracy().Format("val_", 98.531), "val_top5: 98.53%");
}

}  // namespace
}  // namespace dtnn
