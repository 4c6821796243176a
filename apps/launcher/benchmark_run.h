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
#include "apps/launcher/lasting_run.h"
#include "comm/communicator.h"

namespace dtnn {

// `communicator`: null for a run of one rank. `lasting`: of a run whose ranks come and go, else
// null; where its rank then has a place in the next generation (ElasticRank::has_next), the run
// goes on with another call.
absl::Status RunBenchmark(const Options& options, Communicator* communicator, std::ostream& out,
                          std::ostream& err, LastingRun* lasting = nullptr);

// Of a run whose ranks come and go, where it cannot go on, and this rank has kept a state that no
// generation has begun with: saves a checkpoint, and returns `why` with where it is, and the exit
// code (comm/ranks/job/exit_code.h).
absl::Status SaveKept(const Options& options, LastingRun& lasting, const absl::Status& why,
                      std::ostream& out, std::ostream& err);

}  // namespace dtnn

#endif  // DTNN_APPS_LAUNCHER_BENCHMARK_RUN_H_
