// --class-weights: how much the samples of each class count in training.

#ifndef DTNN_APPS_MAKE_CLASS_WEIGHTS_H_
#define DTNN_APPS_MAKE_CLASS_WEIGHTS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "apps/flags/options.h"
#include "comm/communicator.h"
#include "data/dataset.h"
#include "optim/losses/loss.h"

namespace dtnn {

// One weight per class; none without the option. "balanced": samples / (classes * samples of the
// class), as scikit-learn's class_weight="balanced", so that the mean over the samples is 1; of the
// training split of all ranks, which call it together. Classes without samples do not count, and
// have 1. A usage error for targets that are not classes, for another loss than
// categorical_cross_entropy, for what is not a weight, and for another number of weights than there
// are classes.
absl::StatusOr<std::vector<double>> MakeClassWeights(const Options& options, const Dataset& dataset,
                                                     Communicator* communicator);

// The loss of training with these weights.
absl::StatusOr<std::shared_ptr<const Loss>> MakeWeightedLoss(const Options& options,
                                                             const std::vector<double>& weights);

// A line of the smallest and the largest ones with their classes.
std::string DescribeClassWeights(const Dataset& dataset, const std::vector<double>& weights);

}  // namespace dtnn

#endif  // DTNN_APPS_MAKE_CLASS_WEIGHTS_H_
