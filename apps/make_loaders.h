// Options to the loaders of a run.

#ifndef DTNN_APPS_MAKE_LOADERS_H_
#define DTNN_APPS_MAKE_LOADERS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "apps/flags/options.h"
#include "data/dataset.h"
#include "data/loader.h"

namespace dtnn {

// `validation` is null where nothing is held out.
struct Loaders {
  std::unique_ptr<Loader> training, validation, test;
};

// Makes only what the run needs: no training data for --evaluate-only, no test without evaluation.
// Those of one of `ranks` ranks.
absl::StatusOr<Loaders> MakeLoaders(const Options& options, std::shared_ptr<const Dataset> dataset,
                                    int rank = 0, int ranks = 1);

// One line about a batch size of which no step can have enough samples; empty where there is no
// such.
std::string DescribeLargeBatch(const Options& options, const Loaders& loaders);

}  // namespace dtnn

#endif  // DTNN_APPS_MAKE_LOADERS_H_
