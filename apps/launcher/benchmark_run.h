// The launcher's run: loads the data, builds the network, evaluates and trains as the options say,
// and prints the messages of README A's logs in their order.
//
// On several ranks each calls it with its own communicator. Rank 0 speaks for all, on `out`, and
// with warnings, a line each, on `err`; only of checkpoints of its own each rank warns itself. What
// is wrong on any of them before the work starts ends all of them, with the same exit code. Where a
// rank is lost later, the lowest one left writes a checkpoint of the last whole step (with
// --checkpoint-dir), the others wait for it, and all end with the communicator's error.

#ifndef DTNN_APPS_LAUNCHER_BENCHMARK_RUN_H_
#define DTNN_APPS_LAUNCHER_BENCHMARK_RUN_H_

#include <ostream>

#include "absl/status/status.h"
#include "apps/flags/options.h"
#include "comm/communicator.h"

namespace dtnn {

// `communicator`: null for a run of one rank.
absl::Status RunBenchmark(const Options& options, Communicator* communicator, std::ostream& out,
                          std::ostream& err);

}  // namespace dtnn

#endif  // DTNN_APPS_LAUNCHER_BENCHMARK_RUN_H_
