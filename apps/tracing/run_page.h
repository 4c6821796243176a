// The page of a run, --report: what it says of the run besides what training tells (models/report).

#ifndef DTNN_APPS_TRACING_RUN_PAGE_H_
#define DTNN_APPS_TRACING_RUN_PAGE_H_

#include "absl/status/status.h"
#include "apps/flags/options.h"
#include "apps/tracing/run_subject.h"
#include "models/report/report_writer.h"

namespace dtnn {

// Whether the page can be written: a run of hours must not find out later.
absl::Status CheckReportFile(const Options& options);

// The caller adds the profile, and where warnings go.
ReportWriterOptions MakeReportOptions(const RunSubject& run);

}  // namespace dtnn

#endif  // DTNN_APPS_TRACING_RUN_PAGE_H_
