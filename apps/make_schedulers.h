// Options to schedulers.

#ifndef DTNN_APPS_MAKE_SCHEDULERS_H_
#define DTNN_APPS_MAKE_SCHEDULERS_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "apps/flags/options.h"
#include "models/averages.h"
#include "optim/scheduler.h"

namespace dtnn {

// Those of --schedulers, in that order; model_checkpoint only where there is a folder for its
// files. A usage error for one that watches a figure which the run does not compute.
absl::StatusOr<std::vector<std::shared_ptr<Scheduler>>> MakeSchedulers(const Options& options,
                                                                       const Figures& figures,
                                                                       bool has_validation);

}  // namespace dtnn

#endif  // DTNN_APPS_MAKE_SCHEDULERS_H_
