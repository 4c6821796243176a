#include "apps/report/run.h"

#include <algorithm>
#include <span>

#include "absl/strings/str_join.h"
#include "apps/program/other_file.h"
#include "comm/ranks/job/exit_code.h"
#include "models/observe/report/charts/page.h"
#include "models/observe/report/charts/svg.h"
#include "models/observe/report/comparison.h"
#include "models/observe/report/read_run.h"
#include "models/observe/report/report_name.h"
#include "tensor/errors.h"
#include "tensor/files/atomic_file.h"
#include "tensor/files/output_file.h"
#include "tensor/text/counted.h"

namespace dtnn {
namespace {

bool IsPicture(const ReportOptions& options) { return options.output.ends_with(".svg"); }

absl::Status CheckOptions(const ReportOptions& options) {
  if (options.files.empty()) {
    return UsageError(
        "no runs: name their histories (.csv or .jsonl, of benchmark --history-file) or their "
        "checkpoints (files or folders, of --checkpoint-dir)");
  }
  const bool picture = IsPicture(options);
  if (!options.output.empty() && !picture && !IsReportName(options.output)) {
    return UsageError("--output=", options.output,
                      ": unknown ending; must be .html for a page or .svg for a picture");
  }
  if (!options.metric.empty() && !picture) {
    return UsageError("--metric: needs --output=FILE.svg; a page shows all metrics");
  }
  if (options.output.empty()) return absl::OkStatus();
  return WithContext(CheckOutputFile(options.output, picture ? "a picture" : "a report",
                                     picture ? IsSvgFile : IsPage),
                     "--output");
}

absl::StatusOr<std::string> MetricToDraw(const std::string& asked,
                                         const std::vector<ComparedRun>& runs) {
  const std::vector<std::string> metrics = MetricsOfRuns(runs);
  if (!asked.empty()) {
    if (asked == "learning_rate" || std::ranges::count(metrics, asked) > 0) return asked;
    return UsageError("--metric=", asked, ": no run has it; there are learning_rate, ",
                      absl::StrJoin(metrics, ", "));
  }
  if (metrics.empty()) return std::string("learning_rate");
  const std::string validation = "val_" + metrics[0];  // the loss comes first
  return std::ranges::count(metrics, validation) > 0 ? validation : metrics[0];
}

}  // namespace

absl::Status ReportRuns(const ReportOptions& options, std::ostream& out) {
  DTNN_RETURN_IF_ERROR(CheckOptions(options));
  std::vector<ComparedRun> runs;
  for (const std::string& file : options.files) {
    absl::StatusOr<ComparedRun> run = ReadRun(file);
    if (!run.ok()) {
      return NameOtherFile(run.status(), file, "report",
                           "a history (.csv, .jsonl), a checkpoint or a saved model (.npz, "
                           ".safetensors), or a folder with them");
    }
    runs.push_back(*std::move(run));
  }
  if (options.output.empty()) {
    out << FormatComparisonText(runs);
    return absl::OkStatus();
  }
  std::string text;
  if (IsPicture(options)) {
    DTNN_ASSIGN_OR_RETURN(const std::string metric, MetricToDraw(options.metric, runs));
    text = FormatSvgFile(DrawRuns("runs", metric, runs));
  } else {
    text = FormatComparison(runs);
  }
  DTNN_RETURN_IF_ERROR(
      WriteFileAtomically(options.output, std::as_bytes(std::span(std::string_view(text)))));
  out << "Wrote " << options.output << ", " << Counted(int64_t(runs.size()), "run") << "\n";
  return absl::OkStatus();
}

}  // namespace dtnn
