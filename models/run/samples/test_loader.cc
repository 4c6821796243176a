#include "models/run/samples/test_loader.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "data/loading/byte_batches.h"
#include "data/loading/split.h"
#include "data/preprocessing.h"
#include "tensor/errors.h"
#include "tensor/status_macros.h"

namespace dtnn {

absl::StatusOr<std::unique_ptr<Loader>> TestLoader(const Loaders& loaders,
                                                   std::shared_ptr<const Dataset> dataset,
                                                   Split split, double share, bool undivided) {
  const Preprocessing& wanted = loaders.preprocessing;
  Preprocessing now = dataset->preprocessing();
  LoaderOptions options = loaders.testing;
  options.normalization = now.normalization.any() ? wanted.then : wanted.normalization;
  AddNormalization(options.normalization, now);
  if (!SamePreprocessing(now, wanted, dataset->sample().channels)) {
    return InvalidArgument("data set ", dataset->name(), " is preprocessed in another way (",
                           Describe(now), ") than the samples of the run (", Describe(wanted), ")");
  }
  if (undivided) options.rank = 0, options.ranks = 1;
  options.bytes = options.bytes && WhyNoBytes(*dataset, {}, 0).empty();
  options.threads = std::max(options.threads, LoaderThreads(*dataset));
  DTNN_ASSIGN_OR_RETURN(std::vector<int64_t> indices,
                        TakeFraction(AllIndices(dataset->size(split)), share, options.seed,
                                     dataset->groups(split).begins));
  return Loader::Create(std::move(dataset), split, std::move(indices), options);
}

}  // namespace dtnn
