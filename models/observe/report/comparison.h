// Several runs beside each other: a table of their last and best values, a chart per metric with a
// line per run, and where they are known, their settings.

#ifndef DTNN_MODELS_OBSERVE_REPORT_COMPARISON_H_
#define DTNN_MODELS_OBSERVE_REPORT_COMPARISON_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/observe/report/charts/svg.h"
#include "models/observe/report/epochs.h"
#include "tensor/files/named_tensors.h"

namespace dtnn {

struct ComparedRun {
  std::string name = {};
  std::vector<ReportEpoch> epochs = {};
  NamedMetrics test = {};    // on the test data, after training; empty: not known
  NamedTexts settings = {};  // for people, each name once
};

// What a run came to in a metric.
struct MetricResult {
  double last = ReportEpoch::kUnknown, best = ReportEpoch::kUnknown;
  int64_t best_epoch = 0;  // 0: there is no best
};
MetricResult ResultOf(const ComparedRun& run, std::string_view metric);

// The metrics of all runs, in the order in which they are first seen.
std::vector<std::string> MetricsOfRuns(const std::vector<ComparedRun>& runs);

// One metric, or "learning_rate".
SvgPicture DrawRuns(std::string_view id, std::string_view metric,
                    const std::vector<ComparedRun>& runs);

// A page (page.h).
std::string FormatComparison(const std::vector<ComparedRun>& runs);
// Lines for a terminal: run, metric, last value, best value and its epoch; results on the test data
// as metrics "test_X" without a best; then run, setting, value, or "all" where a setting is equal
// in all runs that state theirs.
std::string FormatComparisonText(const std::vector<ComparedRun>& runs);

}  // namespace dtnn

#endif  // DTNN_MODELS_OBSERVE_REPORT_COMPARISON_H_
