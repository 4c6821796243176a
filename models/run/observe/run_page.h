// The page of a run, output.report: what it says of the run besides what training tells
// (models/observe/report).

#ifndef DTNN_MODELS_RUN_OBSERVE_RUN_PAGE_H_
#define DTNN_MODELS_RUN_OBSERVE_RUN_PAGE_H_

#include "absl/status/status.h"
#include "models/observe/report/report_writer.h"
#include "models/run/observe/run_subject.h"
#include "models/run/options/run_options.h"

namespace dtnn {

// Whether the page can be written: a run of hours must not find out later.
absl::Status CheckReportFile(const RunOptions& options);

// The caller adds the profile, and where warnings go.
ReportWriterOptions MakeReportOptions(const RunSubject& run);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_OBSERVE_RUN_PAGE_H_
