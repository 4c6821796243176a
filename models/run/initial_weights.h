// The parameters that a run begins with, from a file.

#ifndef DTNN_MODELS_RUN_INITIAL_WEIGHTS_H_
#define DTNN_MODELS_RUN_INITIAL_WEIGHTS_H_

#include "absl/status/status.h"
#include "models/parameters/parameter_store.h"
#include "models/run/objects/run_log.h"
#include "models/run/prepare/prepared_run.h"

namespace dtnn {

// Those of network.weights, where it is given; says what was loaded, and warns of what
// was not and of samples that were preprocessed otherwise.
absl::Status LoadInitialWeights(const PreparedRun& run, ParameterStore& store, RunLog& log);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_INITIAL_WEIGHTS_H_
