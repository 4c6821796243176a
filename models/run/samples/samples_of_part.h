// The samples of the training split that a run uses: those of its data.part.

#ifndef DTNN_MODELS_RUN_SAMPLES_SAMPLES_OF_PART_H_
#define DTNN_MODELS_RUN_SAMPLES_SAMPLES_OF_PART_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "models/run/options/run_options.h"

namespace dtnn {

// Ascending; all without data.part. Those for training and those for validation, before data.share.
// InvalidArgument for a division that the data cannot have, and one without samples for this part.
absl::StatusOr<std::vector<int64_t>> SamplesOfPart(const RunOptions& options,
                                                   const Dataset& dataset);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_SAMPLES_SAMPLES_OF_PART_H_
