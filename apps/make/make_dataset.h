// Options to a data set. One table holds what the launcher knows of each; a new data set is one row
// and a word of --dataset.

#ifndef DTNN_APPS_MAKE_MAKE_DATASET_H_
#define DTNN_APPS_MAKE_MAKE_DATASET_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "apps/flags/options.h"
#include "data/dataset.h"

namespace dtnn {

// What is known of a data set without its files: how many samples, of which extents, and what a
// network for them gives.
struct DatasetSize {
  int64_t train = 0, test = 0;
  ImageExtents sample = {};
  int64_t outputs = 0;
};
// After cropping and resizing; nullopt where the files decide.
std::optional<DatasetSize> KnownSize(const Options& options);

// Reads what the run needs: no training data for --evaluate-only, no test data without evaluation.
// Images are cropped and resized as the options say.
absl::StatusOr<std::shared_ptr<const Dataset>> MakeDataset(const Options& options);

}  // namespace dtnn

#endif  // DTNN_APPS_MAKE_MAKE_DATASET_H_
