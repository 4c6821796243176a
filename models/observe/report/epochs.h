// What is known of each epoch of a run, its curves, and the table of the same numbers.

#ifndef DTNN_MODELS_OBSERVE_REPORT_EPOCHS_H_
#define DTNN_MODELS_OBSERVE_REPORT_EPOCHS_H_

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/observe/report/charts/html.h"
#include "models/observe/report/charts/svg.h"
#include "models/training/step/metric_averages.h"
#include "optim/losses/better.h"

namespace dtnn {

struct ReportEpoch {
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

  int64_t epoch = 0;  // from 1
  NamedMetrics metrics = {};
  double learning_rate = kUnknown;
  double gradient_norm = kUnknown;  // of its last update; the mean over all where they are clipped
  double seconds = kUnknown;        // of the pass over the training data
  double samples_per_second = kUnknown;
  double joules = kUnknown;             // with its validation
  double joules_per_sample = kUnknown;  // that it trained on
};

// A chart for each metric, with training and validation ("val_" before its name), then for learning
// rate, gradient norm and speed where they are known. The pictures' ids begin with "curve".
std::vector<SvgPicture> DrawEpochs(const std::vector<ReportEpoch>& epochs);

// A row per epoch; of more than 1000, every k-th and the last.
HtmlTable TableOfEpochs(const std::vector<ReportEpoch>& epochs);

// Which values of a metric are better; metrics without one have no best value.
using BetterOfMetrics = std::vector<std::pair<std::string, Better>>;

// A row per metric: its last value, its best, and in which epoch that was.
HtmlTable TableOfResults(const std::vector<ReportEpoch>& epochs, const BetterOfMetrics& better);

// The index of the epoch whose value of `metric` is the best; -1: it has none.
int BestEpoch(const std::vector<ReportEpoch>& epochs, std::string_view metric, Better better);

// NaN where the epoch has no such metric.
double MetricOf(const ReportEpoch& epoch, std::string_view metric);

}  // namespace dtnn

#endif  // DTNN_MODELS_OBSERVE_REPORT_EPOCHS_H_
