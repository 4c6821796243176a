#include "optim/metrics/metrics.h"

#include "optim/metrics/binary_accuracy.h"
#include "optim/metrics/binary_confusion_matrix.h"
#include "optim/metrics/categorical_accuracy.h"
#include "optim/metrics/categorical_hinge.h"
#include "optim/metrics/categorical_mae.h"
#include "optim/metrics/categorical_mse.h"
#include "optim/metrics/mean_iou.h"
#include "optim/metrics/multiclass_confusion_matrix.h"
#include "optim/metrics/per_class_report.h"
#include "optim/metrics/precision_recall.h"
#include "optim/metrics/regression_mae.h"
#include "optim/metrics/regression_mse.h"
#include "optim/metrics/top5_accuracy.h"
#include "tensor/named_table.h"

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
    {"mean_iou", Make<MeanIou>},
    {"per_class_report", Make<PerClassReport>},
};

}  // namespace

std::vector<std::string_view> MetricNames() { return NamesIn(kMetrics); }

absl::StatusOr<std::shared_ptr<const Metric>> MakeMetric(std::string_view name) {
  DTNN_ASSIGN_OR_RETURN(const Entry* entry, FindNamed(kMetrics, "metric", name));
  return entry->make();
}

}  // namespace dtnn
