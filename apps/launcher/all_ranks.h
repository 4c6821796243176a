// The launcher's run on every process of a job.

#ifndef DTNN_APPS_LAUNCHER_ALL_RANKS_H_
#define DTNN_APPS_LAUNCHER_ALL_RANKS_H_

#include <ostream>

#include "absl/status/status.h"
#include "apps/flags/options.h"
#include "comm/launch_place.h"

namespace dtnn {

// Called by every process of the run. Joins the others where a launcher started this one,
// and takes its share of the machine's threads. With --parallel=sequential under a launcher, rank 0
// runs alone and the others return OK at once. Where the ranks broke apart the process ends here,
// its error written to `err`, since MPI could not be left in order.
absl::Status RunOnAllRanks(const Options& options, const LaunchPlace& place, std::ostream& out,
                           std::ostream& err);

}  // namespace dtnn

#endif  // DTNN_APPS_LAUNCHER_ALL_RANKS_H_
