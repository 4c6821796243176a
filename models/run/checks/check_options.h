// What is wrong with the options of a run by themselves: words that mean nothing, numbers that
// cannot be, options that another one needs. What depends on data, files or the machine shows
// later.

#ifndef DTNN_MODELS_RUN_CHECKS_CHECK_OPTIONS_H_
#define DTNN_MODELS_RUN_CHECKS_CHECK_OPTIONS_H_

#include "absl/status/status.h"
#include "comm/launch_place.h"
#include "models/run/options/run_options.h"

namespace dtnn {

// Usage errors that name the member. What has another list of names (optimizers, losses, metrics,
// schedulers, data sets, networks) is refused where it is made.
absl::Status CheckRunOptions(const RunOptions& options);

// Usage error, with the reason, where ranks.elastic is of no use: the ranks of that transport are
// those that there are at the start.
absl::Status CheckElasticTransport(Transport transport);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_CHECKS_CHECK_OPTIONS_H_
