// Rules that concern several options at once, applied when each alone is right.

#ifndef DTNN_APPS_FLAGS_VALIDATE_H_
#define DTNN_APPS_FLAGS_VALIDATE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "apps/flags/options.h"

namespace dtnn {

// Metrics named in --loss-func, as in categorical_accuracy,categorical_cross_entropy, move to
// `metrics`; the one loss is left.
absl::Status SplitLossFunction(Options& options);

// Does so, and brings other lists into order. Contradictions are usage errors; settings without
// effect are added to `warnings`, one line each.
absl::Status ValidateOptions(Options& options, std::vector<std::string>& warnings);

// Those of the given options that have no effect, by reason: a line each.
std::vector<std::string> WithoutEffect(const Options& options);

// Constants of optimizers and schedulers that the run does not have, about which there was a
// warning, get their defaults again: a run refuses others.
void DropOtherConstants(Options& options);

}  // namespace dtnn

#endif  // DTNN_APPS_FLAGS_VALIDATE_H_
