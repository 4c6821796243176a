// What is allowed, and hardly meant.

#ifndef DTNN_MODELS_RUN_CHECKS_OPTION_WARNINGS_H_
#define DTNN_MODELS_RUN_CHECKS_OPTION_WARNINGS_H_

#include <string>
#include <vector>

#include "models/run/options/run_options.h"

namespace dtnn {

// A line each, naming the member. `own_schedulers`: the run has scheduler objects, with constants
// of their own.
std::vector<std::string> OptionWarnings(const RunOptions& options, bool own_schedulers = false);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_CHECKS_OPTION_WARNINGS_H_
