#include "optim/metrics/metrics.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "optim/metrics/binary_accuracy.h"
#include "optim/metrics/binary_confusion_matrix.h"
#include "optim/metrics/categorical_accuracy.h"
#include "optim/metrics/categorical_hinge.h"
#include "optim/metrics/categorical_mae.h"
#include "optim/metrics/categorical_mse.h"
#include "optim/metrics/multiclass_confusion_matrix.h"
#include "optim/metrics/per_class_report.h"
#include "optim/metrics/precision_recall.h"
#include "optim/metrics/regression_mae.h"
#include "optim/metrics/regression_mse.h"
#include "optim/metrics/top5_accuracy.h"

namespace dtnn {
namespace {

struct Entry {
  std::string_view name;
  std::shared_ptr<const Metric> (*make)();
};

template <class M>
std::shared_ptr<const Metric> Make() {
  return std::make_shared<M>();
}

constexpr Entry kMetrics[] = {
    {"categorical_accuracy", Make<CategoricalAccuracy>},
    {"top5_accuracy", Make<Top5Accuracy>},
    {"categorical_hinge", Make<CategoricalHinge>},
    {"categorical_mse", Make<CategoricalMse>},
    {"categorical_mae", Make<CategoricalMae>},
    {"regression_mse", Make<RegressionMse>},
    {"regression_mae", Make<RegressionMae>},
    {"binary_accuracy", Make<BinaryAccuracy>},
    {"binary_confusion_matrix", Make<BinaryConfusionMatrix>},
    {"multiclass_confusion_matrix", Make<MulticlassConfusionMatrix>},
    {"precision", Make<Precision>},
    {"recall", Make<Recall>},
    {"f1_score", Make<F1Score>},
    {"per_class_report", Make<PerClassReport>},
};

}  // namespace

std::vector<std::string_view> MetricNames() {
  std::vector<std::string_view> names;
  for (const Entry& entry : kMetrics) names.push_back(entry.name);
  return names;
}

absl::StatusOr<std::shared_ptr<const Metric>> MakeMetric(std::string_view name) {
  std::string known;
  for (const Entry& entry : kMetrics) {
    if (entry.name == name) return entry.make();
    absl::StrAppend(&known, known.empty() ? "" : ", ", std::string(entry.name));
  }
  return absl::NotFoundError(
      absl::StrCat("there is no metric \"", std::string(name), "\"; there are: ", known));
}

}  // namespace dtnn
