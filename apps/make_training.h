// Options to what training minimises, how, and what is measured.

#ifndef DTNN_APPS_MAKE_TRAINING_H_
#define DTNN_APPS_MAKE_TRAINING_H_

#include <memory>

#include "absl/status/statusor.h"
#include "apps/flags/options.h"
#include "models/averages.h"
#include "optim/optimizer.h"

namespace dtnn {

absl::StatusOr<std::shared_ptr<const Optimizer>> MakeOptimizer(const Options& options);
// The loss and the metrics.
absl::StatusOr<Figures> MakeFigures(const Options& options);

}  // namespace dtnn

#endif  // DTNN_APPS_MAKE_TRAINING_H_
