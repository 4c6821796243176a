// The launcher's run (models/run): what it says goes to streams, with flags instead of members of
// RunOptions, and its passes are shown as progress lines.

#ifndef DTNN_APPS_LAUNCHER_BENCHMARK_RUN_H_
#define DTNN_APPS_LAUNCHER_BENCHMARK_RUN_H_

#include <ostream>

#include "absl/status/status.h"
#include "apps/flags/options.h"
#include "comm/communicator.h"
#include "models/run/lasting_run.h"

namespace dtnn {

// On several ranks each calls it with its own communicator; null: a run of one rank. `lasting`: of
// a run whose ranks come and go, else null; where its rank then has a place in the next generation
// (ElasticRank::has_next), the run continues with another call.
absl::Status RunBenchmark(const Options& options, Communicator* communicator, std::ostream& out,
                          std::ostream& err, LastingRun* lasting = nullptr);

// SaveKept of a run (models/run/elastic_run.h).
absl::Status SaveKept(const Options& options, LastingRun& lasting, const absl::Status& why,
                      std::ostream& out, std::ostream& err);

}  // namespace dtnn

#endif  // DTNN_APPS_LAUNCHER_BENCHMARK_RUN_H_
