// What the program sweep does: runs the launcher for each point of a grid, and compares the runs.

#ifndef DTNN_APPS_SWEEP_RUN_H_
#define DTNN_APPS_SWEEP_RUN_H_

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "apps/sweep/grid.h"

namespace dtnn {

struct SweepOptions {
  std::string options = {};  // file that benchmark --options takes
  std::vector<GridAxis> grid = {};
  std::string folder = {};   // of the runs; made where it is missing
  std::string program = {};  // the launcher
  int64_t jobs = 1;          // runs at a time
};

// A run that has its model is not run again, one that was stopped continues from its checkpoint. In
// the end there are FOLDER/sweep.html and, on `out`, a table, the best run first. After a signal no
// run begins, and those that run end with a checkpoint. Errors: of the options, before anything
// runs; FailedPrecondition where a run's folder holds one with other options; and that runs have
// failed, when all others are done.
absl::Status Sweep(const SweepOptions& options, std::ostream& out);

}  // namespace dtnn

#endif  // DTNN_APPS_SWEEP_RUN_H_
