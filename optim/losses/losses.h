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
  // Other losses ignore what is not for them.
  double label_smoothing = 0;              // of both cross entropies; [0, 1)
  std::vector<double> class_weights = {};  // of categorical_cross_entropy
};

// In the order in which they are documented.
std::vector<std::string_view> LossNames();
// NotFound, listing the names, for another one.
absl::StatusOr<std::shared_ptr<const Loss>> MakeLoss(std::string_view name,
                                                     const LossOptions& options = {});

}  // namespace dtnn

#endif  // DTNN_OPTIM_LOSSES_LOSSES_H_
