// training.class_weights: how much the samples of each class count in training.

#ifndef DTNN_MODELS_RUN_PARTS_CLASS_WEIGHTS_H_
#define DTNN_MODELS_RUN_PARTS_CLASS_WEIGHTS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "data/dataset.h"
#include "models/run/options/run_options.h"
#include "optim/losses/loss.h"

namespace dtnn {

// What is known of the option before the data are read: a usage error for another loss than
// categorical_cross_entropy, for a word that is not a weight, and for another number of weights
// than `classes` (0: not known) of `dataset`; and errors of a file (class_weights_file.h).
absl::Status CheckClassWeights(const RunOptions& options, std::string_view dataset,
                               int64_t classes);

// One weight per class; none without the option. "balanced": samples / (classes * samples of the
// class), as scikit-learn's class_weight="balanced", so that the mean over the samples is 1; of the
// training splits of all ranks, which call it together, or of their data.part. Classes without
// samples do not count, and have 1. A file must be the same on all ranks. Errors of
// CheckClassWeights, and one for targets that are not classes.
absl::StatusOr<std::vector<double>> MakeClassWeights(const RunOptions& options,
                                                     const Dataset& dataset,
                                                     Communicator* communicator);

// The loss of training with these weights.
absl::StatusOr<std::shared_ptr<const Loss>> MakeWeightedLoss(const RunOptions& options,
                                                             const std::vector<double>& weights);

// A line of the smallest and the largest ones with their classes.
std::string DescribeClassWeights(const Dataset& dataset, const std::vector<double>& weights);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_PARTS_CLASS_WEIGHTS_H_
