// A run on every process of its job, as RunOptions::ranks says: alone, as one of several ranks, as
// one of ranks that come and go (docs/elastic.md), or as a client of a federation.
//
//   const absl::Status status = ExecuteOnRanks(options, {.name = "mine"}, std::cout, std::cerr);
//   return ReportStatus(status, "mine", std::cerr);

#ifndef DTNN_MODELS_RUN_EXECUTE_ON_RANKS_H_
#define DTNN_MODELS_RUN_EXECUTE_ON_RANKS_H_

#include <functional>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "comm/communicator.h"
#include "models/run/objects/run_objects.h"
#include "models/run/options/run_options.h"

namespace dtnn {

// The program that executes a run.
struct RankProgram {
  std::string name = {};  // for messages
  // The objects of the run; where ranks come and go, of each generation of them. Null: a run alone,
  // or no training, only a file that is written after the last generation. The communicator is set
  // afterwards.
  std::function<RunObjects(const Communicator*)> objects = [](const Communicator*) {
    return RunObjects();
  };
  // An error in the program's own words, where it has others than members of RunOptions.
  std::function<absl::Status(const absl::Status&)> reword = [](const absl::Status& error) {
    return error;
  };
};

// Run::Execute, called by every process of the run. It joins the others where a launcher started
// this one (PlaceOfProcess), and takes its share of the machine's threads. With
// Parallel::kSequential under a launcher, rank 0 runs alone and the others return OK at once. Where
// the ranks broke apart the process ends here, its error written to `err`, since MPI could not be
// left in order.
absl::Status ExecuteOnRanks(const RunOptions& options, const RankProgram& program,
                            std::ostream& out, std::ostream& err);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_EXECUTE_ON_RANKS_H_
