// Options to a data set (data/loading/open_dataset.h).

#ifndef DTNN_APPS_MAKE_MAKE_DATASET_H_
#define DTNN_APPS_MAKE_MAKE_DATASET_H_

#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "apps/flags/options.h"
#include "data/dataset.h"
#include "data/loading/open_dataset.h"

namespace dtnn {

// After cropping and resizing; nullopt where the files decide.
std::optional<DatasetSize> KnownSize(const Options& options);

// Reads what the run needs: no training data for --evaluate-only, no test data without evaluation.
// Images are cropped and resized as the options say.
absl::StatusOr<std::shared_ptr<const Dataset>> MakeDataset(const Options& options);

}  // namespace dtnn

#endif  // DTNN_APPS_MAKE_MAKE_DATASET_H_
