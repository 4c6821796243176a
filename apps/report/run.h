// What the program report does: reads what runs left, and puts them beside each other.

#ifndef DTNN_APPS_REPORT_RUN_H_
#define DTNN_APPS_REPORT_RUN_H_

#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace dtnn {

struct ReportOptions {
  std::vector<std::string> files =
      {};                   // histories, checkpoints, folders (models/observe/report/read_run.h)
  std::string output = {};  // page (.html) or picture (.svg); empty: none
  std::string metric = {};  // of the picture; empty: the validation's loss, else the loss
};

// Without an output, prints a table to `out`. Usage errors for no files, an unknown ending of the
// output, and a metric that no run has.
absl::Status ReportRuns(const ReportOptions& options, std::ostream& out);

}  // namespace dtnn

#endif  // DTNN_APPS_REPORT_RUN_H_
