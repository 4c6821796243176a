#include "optim/metrics/metrics.h"

#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(MetricsTest, EveryNameMakesAMetricOfThatName) {
  EXPECT_EQ(MetricNames().size(), 14u);
  for (const std::string_view name : MetricNames()) {
    const auto metric = MakeMetric(name);
    ASSERT_EQ(metric.status(), absl::OkStatus());
    EXPECT_EQ((*metric)->name(), name);
    EXPECT_TRUE((*metric)->TakesClasses());
    EXPECT_GE((*metric)->sums(10), 1);
  }
}

TEST(MetricsTest, AnUnknownNameIsAnsweredWithThoseThatThereAre) {
  const absl::Status status = MakeMetric("acuracy").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(status.message(),
            "there is no metric \"acuracy\"; there are: categorical_accuracy, top5_accuracy, "
            "categorical_hinge, categorical_mse, categorical_mae, regression_mse, regression_mae, "
            "binary_accuracy, binary_confusion_matrix, multiclass_confusion_matrix, precision, "
            "recall, f1_score, per_class_report");
}

}  // namespace
}  // namespace dtnn
