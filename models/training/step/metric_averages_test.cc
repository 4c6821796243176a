#include "models/training/step/metric_averages.h"

#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "optim/losses/categorical_cross_entropy.h"
#include "optim/losses/mse.h"
#include "optim/metrics/categorical_accuracy.h"
#include "optim/metrics/metrics.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

TEST(AveragesTest, RefuseTargetsThatAMetricIsNotDefinedFor) {
  MetricAverages averages(
      {std::make_shared<CategoricalCrossEntropy>(), {std::make_shared<CategoricalAccuracy>()}}, 2);
  const Tensor predictions = testing::ZeroTensor(DType::kFloat32, Shape{3, 2});
  EXPECT_EQ(averages.Add(1, predictions, predictions).message(),
            "metric categorical_accuracy is not defined for targets that are values: it needs "
            "classes");
  EXPECT_EQ(averages.samples(), 0);
}

TEST(AveragesTest, ValuesAreMeansUnderTheNamesOfTheirMetrics) {
  MetricAverages averages(
      {std::make_shared<CategoricalCrossEntropy>(), {std::make_shared<CategoricalAccuracy>()}}, 2);
  const Tensor p = testing::TensorOf(DType::kFloat32, Shape{2, 2}, {0, 1, 1, 0});
  const Tensor classes = testing::TensorOf(DType::kInt32, Shape{2}, {1, 1});
  ASSERT_EQ(averages.Add(3, p, classes), absl::OkStatus());
  EXPECT_EQ(averages.Values("val_"), (NamedMetrics{{"val_categorical_cross_entropy", 1.5},
                                                   {"val_categorical_accuracy", 50}}));
  EXPECT_EQ(averages["categorical_accuracy"], 50);
  EXPECT_TRUE(std::isnan(averages["val_categorical_accuracy"]));
  // One more sample, which is right: means are of all.
  ASSERT_EQ(averages.Add(3, testing::TensorOf(DType::kFloat32, Shape{1, 2}, {0, 1}),
                         testing::TensorOf(DType::kInt32, Shape{1}, {1})),
            absl::OkStatus());
  EXPECT_EQ(averages.samples(), 3);
  EXPECT_EQ(averages["categorical_cross_entropy"], 2);
  EXPECT_NEAR(averages["categorical_accuracy"], 200.0 / 3, 1e-9);
}

// One image of 1 x 2 pixels and one of which a pixel is ignored: 2 of 3 pixels are right.
TEST(AveragesTest, OfImagesMetricsCountLabelledPixelsAndTheLossIsAMeanOverImages) {
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    MetricAverages averages({std::make_shared<CategoricalCrossEntropy>(),
                             {std::make_shared<CategoricalAccuracy>(), *MakeMetric("mean_iou")}},
                            2, format);
    // The same in both formats.
    const Tensor p = testing::TensorOf(DType::kFloat32, SampleShape({1, 2, 2}, format).Prepend(2),
                                       {1, 0, 0, 1, 1, 0, 0, 1});
    const Tensor classes = testing::TensorOf(DType::kInt32, Shape{2, 1, 2}, {0, 1, 1, -1});
    ASSERT_EQ(averages.Add(3, p, classes), absl::OkStatus());
    MetricAverages copy = averages;
    const std::vector<double> sums = averages.ToDoubles();
    copy.FromDoubles(sums);
    copy.Add(averages);  // as of another rank
    EXPECT_EQ(copy.samples(), 4);
    EXPECT_EQ(copy["categorical_cross_entropy"], 1.5);
    EXPECT_NEAR(copy["categorical_accuracy"], 200.0 / 3, 1e-9);
    EXPECT_NEAR(copy["mean_iou"], 0.5, 1e-12);
    EXPECT_EQ(copy.Format(""), "cce: 1.5000000, acc: 66.67%, miou: 0.5000");
  }
}

TEST(AveragesTest, OfImagesWithoutALabelledPixelNoMetricIsKnown) {
  MetricAverages averages(
      {std::make_shared<CategoricalCrossEntropy>(),
       {*MakeMetric("mean_iou"), *MakeMetric("f1_score"), *MakeMetric("per_class_report")}},
      2, TensorFormat::kNHWC);
  const Tensor p = testing::TensorOf(DType::kFloat32, Shape{1, 1, 1, 2}, {1, 0});
  ASSERT_TRUE(averages.Add(0, p, testing::TensorOf(DType::kInt32, Shape{1, 1, 1}, {-1})).ok());
  EXPECT_EQ(averages.samples(), 1);
  EXPECT_EQ(averages["categorical_cross_entropy"], 0);
  for (const char* name : {"mean_iou", "f1_score", "per_class_report"}) {
    EXPECT_TRUE(std::isnan(averages[name])) << name;
  }
  EXPECT_EQ(averages.Format("val_"), "val_cce: 0.0000000, no labelled pixel");
  EXPECT_EQ(averages.Report("val_"), "");
  ASSERT_TRUE(averages.Add(0, p, testing::TensorOf(DType::kInt32, Shape{1, 1, 1}, {0})).ok());
  EXPECT_EQ(averages["mean_iou"], 1) << "one labelled pixel is enough";
}

// The printed forms of metrics that are all 0.
std::string Printed(std::shared_ptr<const Loss> loss, std::initializer_list<const char*> metrics) {
  MetricSet metric_set{std::move(loss), {}};
  for (const char* name : metrics) metric_set.metrics.push_back(*MakeMetric(name));
  MetricAverages averages(metric_set, 1);
  const Tensor one = testing::TensorOf(DType::kFloat32, Shape{1, 1}, {1});
  const Tensor label = testing::ZeroTensor(DType::kInt32, Shape{1});
  EXPECT_TRUE(averages.Add(0, one, label).ok());
  return averages.Format("val_");
}

TEST(AveragesTest, MetricsOfOneShortNameGoByTheirFullOnes) {
  const auto cce = std::make_shared<CategoricalCrossEntropy>();
  EXPECT_EQ(Printed(cce, {"categorical_mse", "categorical_accuracy"}),
            "val_cce: 0.0000000, val_mse: 0.0000000, val_acc: 100.00%");
  EXPECT_EQ(Printed(cce, {"categorical_mse", "regression_mse", "regression_mae"}),
            "val_cce: 0.0000000, val_categorical_mse: 0.0000000, val_regression_mse: 0.0000000, "
            "val_mae: 0.0000000");
  EXPECT_EQ(Printed(std::make_shared<MeanSquaredError>(), {"regression_mse"}),
            "val_mse: 0.0000000, val_regression_mse: 0.0000000");
  // What prints nothing in the line has no name there.
  EXPECT_EQ(Printed(cce, {"binary_confusion_matrix", "multiclass_confusion_matrix", "f1_score"}),
            "val_cce: 0.0000000, val_f1: 1.0000");
}

TEST(AveragesTest, MetricsSayWhichValuesAreBetter) {
  const MetricSet metric_set = {
      std::make_shared<MeanSquaredError>(),
      {*MakeMetric("per_class_report"), *MakeMetric("categorical_hinge")}};
  EXPECT_EQ(metric_set.Names(),
            (std::vector<std::string>{"mse", "per_class_report", "categorical_hinge"}));
  EXPECT_EQ(metric_set.FindBetter("mse"), Better::kSmaller);
  EXPECT_EQ(metric_set.FindBetter("val_mse"), Better::kSmaller);
  EXPECT_EQ(metric_set.FindBetter("val_per_class_report"), Better::kLarger);
  EXPECT_EQ(metric_set.FindBetter("val_categorical_hinge"), Better::kSmaller);
  EXPECT_EQ(metric_set.FindBetter("val_recall"), std::nullopt);
  EXPECT_EQ(metric_set.FindBetter("val_val_mse"), std::nullopt);
}

TEST(AveragesTest, ReportsCallClassesByTheirNames) {
  MetricSet metric_set = {std::make_shared<CategoricalCrossEntropy>(),
                          {*MakeMetric("per_class_report")}};
  const Tensor p = testing::TensorOf(DType::kFloat32, Shape{1, 2}, {0, 1});
  const Tensor classes = testing::TensorOf(DType::kInt32, Shape{1}, {1});
  for (const bool named : {false, true}) {
    if (named) {
      metric_set.class_names =
          std::make_shared<const std::vector<std::string>>(std::vector<std::string>{"cat", "dog"});
    }
    MetricAverages averages(metric_set, 2);
    ASSERT_TRUE(averages.Add(0, p, classes).ok());
    EXPECT_EQ(averages.Report("").find("\n  dog     1.0000") != std::string::npos, named);
    EXPECT_EQ(averages.Report("").find("\n    1     1.0000") != std::string::npos, !named);
  }
}

}  // namespace
}  // namespace dtnn
