// All losses by the names that --loss-func knows.

#ifndef DTNN_OPTIM_LOSSES_LOSSES_H_
#define DTNN_OPTIM_LOSSES_LOSSES_H_

#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "optim/losses/loss.h"

namespace dtnn {

struct LossOptions {
  // Both are for categorical_cross_entropy; other losses ignore them.
  double label_smoothing = 0;  // [0, 1)
  std::vector<double> class_weights = {};
};

// In the order in which they are documented.
std::vector<std::string_view> LossNames();
// NotFound, listing the names, for another one.
absl::StatusOr<std::shared_ptr<const Loss>> MakeLoss(std::string_view name,
                                                     const LossOptions& options = {});

}  // namespace dtnn

#endif  // DTNN_OPTIM_LOSSES_LOSSES_H_
