// Says whether a data set is there and whole: each expected file with its state (expected_files.h),
// what the readers find in them and, when asked, whether every sample can be read.

#ifndef DTNN_APPS_CHECK_DATASET_RUN_H_
#define DTNN_APPS_CHECK_DATASET_RUN_H_

#include <ostream>
#include <string>

#include "absl/status/status.h"

namespace dtnn {

struct CheckOptions {
  std::string dataset = {}, path = {};
  bool read = false;  // every sample, and the checksums of files above 1 GiB
};

// Prints to `out`. FailedPrecondition when something is missing or wrong; usage errors for unknown
// names. Samples are read by NumThreads() threads.
absl::Status CheckDataset(const CheckOptions& options, std::ostream& out);

}  // namespace dtnn

#endif  // DTNN_APPS_CHECK_DATASET_RUN_H_
