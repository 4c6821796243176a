// From options to the objects that a run is made of: data set, optimizer, loss and metrics.

#ifndef DTNN_APPS_ASSEMBLE_H_
#define DTNN_APPS_ASSEMBLE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "apps/flags/options.h"
#include "data/dataset.h"
#include "data/loader.h"
#include "models/averages.h"
#include "optim/optimizer.h"

namespace dtnn {

absl::StatusOr<std::shared_ptr<const Dataset>> MakeDataset(const Options& options);
std::shared_ptr<const Optimizer> MakeOptimizer(const Options& options);
Figures MakeFigures(const Options& options);

// The loaders of a run; `validation` is null where nothing is held out.
struct Loaders {
  std::unique_ptr<Loader> training, validation, test;
};
// Makes only what the run needs: no training data for --evaluate-only, no test without evaluation.
absl::StatusOr<Loaders> MakeLoaders(const Options& options, std::shared_ptr<const Dataset> dataset);

}  // namespace dtnn

#endif  // DTNN_APPS_ASSEMBLE_H_
