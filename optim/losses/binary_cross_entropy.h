// Binary cross entropy of labels that are each true or false by themselves: the sum over a sample's
// labels of -(t log p + (1 - t) log(1 - p)), p clipped to [1e-8, 1 - 1e-8].
//
// Targets are values from 0 to 1 (others are an error that names them), or a class, which counts as
// a one among zeros. The gradient is (p - t) / (p (1 - p)) with respect to probabilities. After a
// Sigmoid layer it is computed from the logits: p - t, and the logarithms keep all digits.
//
// With label smoothing s, the target is (1 - s) t + s / 2: s of it is a label that is as true as
// false (as in Keras).

#ifndef DTNN_OPTIM_LOSSES_BINARY_CROSS_ENTROPY_H_
#define DTNN_OPTIM_LOSSES_BINARY_CROSS_ENTROPY_H_

#include "optim/losses/loss.h"

namespace dtnn {

struct BinaryCrossEntropyOptions {
  double label_smoothing = 0;  // [0, 1)
};

class BinaryCrossEntropy : public Loss {
 public:
  explicit BinaryCrossEntropy(const BinaryCrossEntropyOptions& options = {}) : options_(options) {}
  std::string_view name() const override { return "binary_cross_entropy"; }
  std::string_view label() const override { return "bce"; }
  bool TakesClasses() const override { return true; }
  bool TakesValues() const override { return true; }
  FinalActivation absorbs() const override { return FinalActivation::kSigmoid; }
  absl::StatusOr<std::unique_ptr<LossOp>> Bind(const LossContext& context) const override;

 private:
  BinaryCrossEntropyOptions options_;
};

}  // namespace dtnn

#endif  // DTNN_OPTIM_LOSSES_BINARY_CROSS_ENTROPY_H_
