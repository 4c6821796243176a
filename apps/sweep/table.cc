#include "apps/sweep/table.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_format.h"
#include "tensor/text/one_line.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

std::vector<std::string> MetricsOf(const std::vector<SweptRun>& runs) {
  std::vector<ComparedRun> compared;
  for (const SweptRun& run : runs) compared.push_back(run.run);
  return MetricsOfRuns(compared);
}

// The loss comes first among metrics, then those of validation.
std::string LossOf(const std::vector<std::string>& metrics) {
  const std::string validation = "val_" + metrics[0];
  return std::ranges::count(metrics, validation) > 0 ? validation : metrics[0];
}

}  // namespace

void SortByLoss(std::vector<SweptRun>& runs) {
  const std::vector<std::string> metrics = MetricsOf(runs);
  if (metrics.empty()) return;
  const std::string loss = LossOf(metrics);
  const auto rank = [&](const SweptRun& run) {
    const double best = ResultOf(run.run, loss).best;
    return std::isnan(best) ? std::numeric_limits<double>::infinity() : best;
  };
  std::ranges::stable_sort(runs, {}, rank);
}

std::string FormatTable(const std::vector<std::string>& names, const std::vector<SweptRun>& runs) {
  std::vector<std::vector<std::string>> rows = {names};
  for (const SweptRun& run : runs) rows.push_back(run.values);
  rows[0].push_back("epochs");
  for (size_t i = 0; i < runs.size(); ++i) {
    rows[i + 1].push_back(StrCat(runs[i].run.epochs.size()));
  }
  for (const std::string& metric : MetricsOf(runs)) {
    rows[0].push_back(metric);
    for (size_t i = 0; i < runs.size(); ++i) {
      const double best = ResultOf(runs[i].run, metric).best;
      rows[i + 1].push_back(std::isnan(best) ? "-" : absl::StrFormat("%.5g", best));
    }
  }
  std::vector<size_t> widths(rows[0].size());
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], OneLine(row[i], 60).size());
    }
  }
  std::string text;
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      absl::StrAppendFormat(&text, "%s%*s", i == 0 ? "" : "  ", int(widths[i]),
                            OneLine(row[i], 60));
    }
    text += "\n";
  }
  return text;
}

}  // namespace dtnn
