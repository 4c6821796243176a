#include "models/run/observe/run_page.h"

#include "models/observe/report/charts/page.h"
#include "models/run/tables/memory_table.h"
#include "tensor/errors.h"
#include "tensor/files/output_file.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
absl::Status CheckReportFile(const RunOptions& options) {
  if (options.output.report.empty() || options.training.evaluate_only) return absl::OkStatus();
  return WithContext(CheckOutputFile(options.output.report, "a report", IsPage),
                     "RunOptions::output.report");
}

ReportWriterOptions MakeReportOptions(const RunSubject& run) {
  return {.path = run.options.output.report,
          .facts = {.network = StrCat(run.graph.name(), " on ", run.dataset.name()),
                    .sentence = DescribeRun(run),
                    .machine = DescribeMachine(run),
                    .command = run.listing.command ? run.listing.command(run.ranks, " \\\n  ") : "",
                    .class_names = run.dataset.class_names()},
          .rates = run.rates,
          .parameter_bytes = ParameterBytes(run.graph, ElementTypeOf(run.options), &run.optimizer)};
}

}  // namespace dtnn
