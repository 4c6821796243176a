// The parameters that a run begins with, from a file.

#ifndef DTNN_APPS_LAUNCHER_INITIAL_WEIGHTS_H_
#define DTNN_APPS_LAUNCHER_INITIAL_WEIGHTS_H_

#include "absl/status/status.h"
#include "apps/launcher/prepared_run.h"
#include "apps/launcher/run_voice.h"
#include "models/parameters/parameter_store.h"

namespace dtnn {

// Those of --weights-and-bias-filename, where it is given; says what was loaded, and warns of what
// was not and of samples that were preprocessed otherwise.
absl::Status LoadInitialWeights(const PreparedRun& run, ParameterStore& store, RunVoice& voice);

}  // namespace dtnn

#endif  // DTNN_APPS_LAUNCHER_INITIAL_WEIGHTS_H_
