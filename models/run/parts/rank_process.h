// How a process joins the other ranks of its run, as RunOptions::ranks says. A Run takes the
// communicator that comes of it.
//
//   RunAsRank(PlaceOfProcess(options), RankProcessOf(options, "mine", std::cerr), std::cout,
//             std::cerr, [&](Communicator& communicator) { ... });

#ifndef DTNN_MODELS_RUN_PARTS_RANK_PROCESS_H_
#define DTNN_MODELS_RUN_PARTS_RANK_PROCESS_H_

#include <ostream>
#include <string>

#include "comm/launch_place.h"
#include "comm/ranks/job/rank_process.h"
#include "models/run/options/run_options.h"

namespace dtnn {

// Which rank this process is, and how it meets the others: ranks.transport, rendezvous and elastic
// outrank the environment's. Clients of a federation use no MPI. `get` answers like getenv(), which
// is the default.
LaunchPlace PlaceOfProcess(const RunOptions& options, const GetVariable& get = nullptr);

// ranks.timeout and sync.mpi_sums; a signal ends waiting. `err` gets warnings, with the program's
// name, and must outlive what is returned.
RankProcessOptions RankProcessOf(const RunOptions& options, const std::string& program,
                                 std::ostream& err);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_PARTS_RANK_PROCESS_H_
