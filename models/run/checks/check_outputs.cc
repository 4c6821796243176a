#include "models/run/checks/check_outputs.h"

#include <string>

#include "comm/ranks/job/exit_code.h"
#include "models/callbacks/history_form.h"
#include "models/observe/report/report_name.h"
#include "models/observe/trace/trace_form.h"
#include "tensor/status_macros.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

absl::Status CheckHistoryFile(const RunOptions& options) {
  if (HistoryFormOf(options.output.history)) return absl::OkStatus();
  return UsageError("RunOptions::output.history=", OneLine(options.output.history, 80),
                    ": unknown ending; must be .csv or .jsonl, or .txt, .log, .dat or "
                    "none for columns of text");
}

absl::Status CheckTracing(const RunOptions& options) {
  if (!options.output.report.empty() && !IsReportName(options.output.report)) {
    return UsageError("RunOptions::output.report=", OneLine(options.output.report, 80),
                      ": unknown ending; must be .html or .htm");
  }
  const std::string& profile = options.output.profile.file;
  if (!profile.empty() && !ProfileFormOf(profile)) {
    return UsageError("RunOptions::output.profile=", OneLine(profile, 80),
                      ": must be True, False or a file that ends in .json or .csv");
  }
  const std::string& output = options.output.trace;
  if (options.output.tracing.value_or(false) && output.empty()) {
    return UsageError(
        "RunOptions::output.tracing: needs RunOptions::output.trace=FILE, a name that ends in "
        ".json for ui.perfetto.dev, in "
        ".prv for Paraver, or in .csv for a table of sums");
  }
  if (output.empty()) return absl::OkStatus();
  if (!TraceFormOf(output)) {
    return UsageError(
        "RunOptions::output.trace=", OneLine(output, 80),
        ": unknown ending; must be .json for ui.perfetto.dev and chrome://tracing, .prv for "
        "Paraver, or .csv, .txt, .trc or none for a table of sums");
  }
  if (NamesRank(output) && TraceFormOf(output) != TraceForm::kSimple) {
    return UsageError("RunOptions::output.trace=", OneLine(output, 80),
                      ": such a file has all ranks; leave out {rank}, which is for .csv, .txt or "
                      "no ending");
  }
  if (!options.output.tracing.value_or(true)) {
    return UsageError("RunOptions::output.tracing=False and RunOptions::output.trace=",
                      OneLine(output, 80), ": contradict each other; give one of them");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckOutputs(const RunOptions& options) {
  DTNN_RETURN_IF_ERROR(CheckHistoryFile(options));
  return CheckTracing(options);
}

}  // namespace dtnn
