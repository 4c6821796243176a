// A run whose ranks come and go (docs/elastic.md), as one of them takes part in it: for programs
// that join the ranks with RunAsElasticRank (comm/ranks/job/rank_process.h).
//
//   LastingRun lasting;
//   RunAsElasticRank(place, process, out, err, [&](Communicator& communicator, ElasticRank& rank) {
//     lasting.rank = &rank;
//     return ExecuteGeneration(options, {.communicator = &communicator}, lasting);
//   });

#ifndef DTNN_MODELS_RUN_ELASTIC_RUN_H_
#define DTNN_MODELS_RUN_ELASTIC_RUN_H_

#include "absl/status/status.h"
#include "models/run/lasting_run.h"
#include "models/run/objects/run_objects.h"
#include "models/run/options/run_options.h"

namespace dtnn {

// The run with the ranks of one generation, from what this rank or another has kept. OK where it
// has come to its end, and where this rank has a place in the next generation
// (ElasticRank::has_next), in which another call continues it.
absl::Status ExecuteGeneration(const RunOptions& options, RunObjects objects, LastingRun& lasting);

// For a run that cannot continue (LastingRun::over), where this rank has kept a state that no
// generation has begun with: saves a checkpoint, and returns `why` with where it is, and the exit
// code.
absl::Status SaveKept(const RunOptions& options, RunObjects objects, LastingRun& lasting,
                      const absl::Status& why);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_ELASTIC_RUN_H_
