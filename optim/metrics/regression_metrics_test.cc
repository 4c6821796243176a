#include "gtest/gtest.h"
#include "optim/metrics/regression_mae.h"
#include "optim/metrics/regression_mse.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::Pitched;
using ::dtnn::testing::TensorOf;

double ValueOf(const Metric& metric, const Tensor& p, const Tensor& t) {
  double sum = 0;
  metric.Add(p, t, {&sum, 1});
  return metric.Value({&sum, 1}, p.shape()[0]);
}

TEST(RegressionMetricsTest, AreMeansOverAllElements) {
  const Tensor p = TensorOf(DType::kFloat64, Shape{2, 2}, {1, 2, 3, 4});
  const Tensor t = TensorOf(DType::kFloat64, Shape{2, 2}, {0, 4, 3, 3});
  const Tensor pitched = Pitched(p, TensorFormat::kNHWC);
  EXPECT_EQ(ValueOf(RegressionMse(), p, t), 1.5);
  EXPECT_EQ(ValueOf(RegressionMae(), pitched, t), 1);
  EXPECT_EQ(ValueOf(RegressionMae(), t, pitched), 1);
}

TEST(RegressionMetricsTest, AClassIsAOneAmongZeros) {
  const Tensor p = TensorOf(DType::kFloat32, Shape{1, 4}, {.5, .5, 0, 0});
  const Tensor label = TensorOf(DType::kInt32, Shape{1}, {1});
  EXPECT_EQ(ValueOf(RegressionMse(), p, label), .125);
  EXPECT_EQ(ValueOf(RegressionMae(), p, label), .25);
}

TEST(RegressionMetricsTest, PrintedForms) {
  EXPECT_EQ(RegressionMse().Format("", 0.5), "mse: 0.5000000");
  EXPECT_EQ(RegressionMae().Format("val_", 0.5), "val_mae: 0.5000000");
}

}  // namespace
}  // namespace dtnn
