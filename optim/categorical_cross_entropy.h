// Categorical cross entropy of one-hot targets: -log p[label], p clipped to [1e-8, 1 - 1e-8].
// The gradient is (p - onehot) with respect to logits, and -1 / p[label] at the label's column with
// respect to probabilities.

#ifndef DTNN_OPTIM_CATEGORICAL_CROSS_ENTROPY_H_
#define DTNN_OPTIM_CATEGORICAL_CROSS_ENTROPY_H_

#include "optim/loss.h"

namespace dtnn {

class CategoricalCrossEntropy : public Loss {
 public:
  std::string_view name() const override { return "categorical_cross_entropy"; }
  std::string_view label() const override { return "cce"; }
  bool TakesClasses() const override { return true; }
  bool TakesValues() const override { return false; }
  bool CanTakeLogits() const override { return true; }
  absl::StatusOr<std::unique_ptr<LossOp>> Bind(const LossContext& context) const override;
};

}  // namespace dtnn

#endif  // DTNN_OPTIM_CATEGORICAL_CROSS_ENTROPY_H_
