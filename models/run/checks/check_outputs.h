// Names of the files that a run is to write.

#ifndef DTNN_MODELS_RUN_CHECKS_CHECK_OUTPUTS_H_
#define DTNN_MODELS_RUN_CHECKS_CHECK_OUTPUTS_H_

#include "absl/status/status.h"
#include "models/run/options/run_options.h"

namespace dtnn {

absl::Status CheckOutputs(const RunOptions& options);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_CHECKS_CHECK_OUTPUTS_H_
