// The steps of PreparedRun::Prepare, in their order. All ranks take each together.

#ifndef DTNN_MODELS_RUN_PREPARE_PREPARE_STEPS_H_
#define DTNN_MODELS_RUN_PREPARE_PREPARE_STEPS_H_

#include "absl/status/status.h"
#include "comm/communicator.h"
#include "models/run/objects/run_log.h"
#include "models/run/objects/run_objects.h"
#include "models/run/options/run_options.h"
#include "models/run/prepare/prepared_run.h"

namespace dtnn {

// The model that the run begins with, where its file says which network it is. A usage error where
// nothing says that.
absl::Status FindModel(PreparedRun& run);
// All that options and objects can have wrong by themselves, for a run on so many ranks that share
// a communicator; 0: a process that was started alone.
absl::Status CheckStart(const RunOptions& options, const RunObjects& objects, int ranks);
// Options, files that the run will write, device, optimizer, the model that it starts from, data.
absl::Status LoadData(PreparedRun& run, RunLog& log);
// Ranks that share files must have found the same data, and name what they write alike; those
// with data of their own must have found the same classes.
absl::Status CompareWithOthers(PreparedRun& run, RunLog& log);
// Loss, metrics and the network; says what they are.
absl::Status MakeNetwork(PreparedRun& run, RunLog& log);
// The loss of training, where classes have weights.
absl::Status WeighClasses(PreparedRun& run, RunLog& log);

RankPlace PlaceOf(const PreparedRun& run);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_PREPARE_PREPARE_STEPS_H_
