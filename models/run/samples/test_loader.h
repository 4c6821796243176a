// The loader of a test on data that a run was not made for.

#ifndef DTNN_MODELS_RUN_SAMPLES_TEST_LOADER_H_
#define DTNN_MODELS_RUN_SAMPLES_TEST_LOADER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "data/loading/loader.h"
#include "models/run/samples/make_loaders.h"

namespace dtnn {

// Samples of the split, as `loaders` read and show theirs: all, or that share of them (data.share).
// `undivided`: each rank reads them all. InvalidArgument for data that cannot be shown so.
absl::StatusOr<std::unique_ptr<Loader>> TestLoader(const Loaders& loaders,
                                                   std::shared_ptr<const Dataset> dataset,
                                                   Split split, double share = 0,
                                                   bool undivided = false);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_SAMPLES_TEST_LOADER_H_
