// Constants of an optimizer or a scheduler that the run does not have.

#ifndef DTNN_MODELS_RUN_CHECKS_CHECK_CONSTANTS_H_
#define DTNN_MODELS_RUN_CHECKS_CHECK_CONSTANTS_H_

#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "models/run/options/run_options.h"
#include "optim/optimizers/optimizer.h"

namespace dtnn {

// A usage error that names the member and the optimizer or the scheduler, where a constant was set
// that it does not have, or that an object of the program has instead. `optimizer`: that object, or
// null; `own_schedulers`: there are such objects. A value that would count anyway is none: options
// in force (in_force.h) can be given again.
absl::Status CheckConstants(const RunOptions& options, const Optimizer* optimizer = nullptr,
                            bool own_schedulers = false);

// The paths of all members that it refuses, for a program whose users may set them (a warning says
// that they have no effect): it gives the run their defaults.
std::vector<std::string_view> OtherConstants(const RunOptions& options);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_CHECKS_CHECK_CONSTANTS_H_
