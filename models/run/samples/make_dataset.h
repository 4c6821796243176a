// RunOptions to a data set (data/loading/open_dataset.h).

#ifndef DTNN_MODELS_RUN_SAMPLES_MAKE_DATASET_H_
#define DTNN_MODELS_RUN_SAMPLES_MAKE_DATASET_H_

#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "data/loading/open_dataset.h"
#include "models/run/options/run_options.h"

namespace dtnn {

// After cropping and resizing; nullopt where the files decide. `network`: what the network takes or
// was trained on (parts/model_file.h), where that is known already; else as network.name says.
std::optional<DatasetSize> KnownSize(const RunOptions& options,
                                     const std::optional<ImageExtents>& network = {});

// Reads what the run needs: no training data for training.evaluate_only, no test data without
// evaluation. Images are cropped and resized as the options say.
absl::StatusOr<std::shared_ptr<const Dataset>> MakeDataset(
    const RunOptions& options, const std::optional<ImageExtents>& network = {});

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_SAMPLES_MAKE_DATASET_H_
