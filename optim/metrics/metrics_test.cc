#include "optim/metrics/metrics.h"

#include <map>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(MetricsTest, EveryNameMakesAMetricOfThatName) {
  EXPECT_EQ(MetricNames().size(), 15u);
  for (const std::string_view name : MetricNames()) {
    const auto metric = MakeMetric(name);
    ASSERT_EQ(metric.status(), absl::OkStatus());
    EXPECT_EQ((*metric)->name(), name);
    EXPECT_TRUE((*metric)->TakesClasses());
    EXPECT_GE((*metric)->sums(10), 1);
  }
}

TEST(MetricsTest, EveryMetricSaysWhichValuesAreBetter) {
  const std::map<std::string_view, Better> expected = {
      {"categorical_accuracy", Better::kLarger},
      {"top5_accuracy", Better::kLarger},
      {"categorical_hinge", Better::kSmaller},
      {"categorical_mse", Better::kSmaller},
      {"categorical_mae", Better::kSmaller},
      {"regression_mse", Better::kSmaller},
      {"regression_mae", Better::kSmaller},
      {"binary_accuracy", Better::kLarger},
      {"binary_confusion_matrix", Better::kLarger},
      {"multiclass_confusion_matrix", Better::kLarger},
      {"precision", Better::kLarger},
      {"recall", Better::kLarger},
      {"f1_score", Better::kLarger},
      {"mean_iou", Better::kLarger},
      {"per_class_report", Better::kLarger},
  };
  for (const std::string_view name : MetricNames()) {
    ASSERT_TRUE(expected.contains(name)) << name;
    EXPECT_EQ((*MakeMetric(name))->better(), expected.at(name)) << name;
  }
}

TEST(MetricsTest, AnUnknownNameIsAnsweredWithThoseThatThereAre) {
  const absl::Status status = MakeMetric("acuracy").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(status.message(),
            "unknown metric \"acuracy\"; must be one of: categorical_accuracy, top5_accuracy, "
            "categorical_hinge, categorical_mse, categorical_mae, regression_mse, regression_mae, "
            "binary_accuracy, binary_confusion_matrix, multiclass_confusion_matrix, precision, "
            "recall, f1_score, mean_iou, per_class_report");
}

}  // namespace
}  // namespace dtnn
