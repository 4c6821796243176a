// Categorical cross entropy of one class per sample: -log p[label], p clipped to [1e-8, 1 - 1e-8].
// The gradient is (p - onehot) with respect to logits, and -1 / p[label] at the label's column with
// respect to probabilities.
//
// With label smoothing s over K classes (Szegedy et al., CVPR 2016) the target is not one-hot but
// t = (1 - s) * onehot + s / K: loss = -sum(t log p), gradients p - t and -t / p. The share s / K
// of all classes is clipped only where probabilities are given.
//
// With class weights w, each class's term counts w times, as in torch.nn.CrossEntropyLoss(weight=w,
// reduction='sum'): loss = -sum(w t log p), gradients sum(w t) p - w t and -w t / p. A mean divides
// by samples, not by weights, so that a sample of class c has w[c] times the loss, as with Keras'
// class_weight; with weights whose mean over the samples is 1 both are the same.
//
// Of a network whose output is an image, each pixel has a class, and the loss of a sample is the
// mean over its labelled pixels (kernels/pixel_loss/pixel_loss.h). torch.nn.CrossEntropyLoss takes
// the mean over all labelled pixels of a batch: both are the same where all samples have as many.
// Weights and smoothing are those of vectors; rows of probabilities are not taken.
//
// Targets may also be rows of probabilities q, of the dtype of the predictions, that sum to 1
// (mixup): loss = -sum(q log p), linear in q, with q in place of onehot above. Rows that are not
// probabilities are InvalidArgument.

#ifndef DTNN_OPTIM_LOSSES_CATEGORICAL_CROSS_ENTROPY_H_
#define DTNN_OPTIM_LOSSES_CATEGORICAL_CROSS_ENTROPY_H_

#include <vector>

#include "optim/losses/loss.h"

namespace dtnn {

struct CategoricalCrossEntropyOptions {
  double label_smoothing = 0;  // [0, 1)
  // One per class, at least 0; none: all 1. Bind gives InvalidArgument for another number of them.
  std::vector<double> class_weights = {};
};

class CategoricalCrossEntropy : public Loss {
 public:
  explicit CategoricalCrossEntropy(const CategoricalCrossEntropyOptions& options = {})
      : options_(options) {}
  std::string_view name() const override { return "categorical_cross_entropy"; }
  std::string_view label() const override { return "cce"; }
  bool TakesClasses() const override { return true; }
  bool TakesValues() const override { return false; }
  bool TakesDistributions() const override { return true; }
  bool TakesPixels() const override { return true; }
  FinalActivation absorbs() const override { return FinalActivation::kSoftmax; }
  absl::StatusOr<std::unique_ptr<LossOp>> Bind(const LossContext& context) const override;

 private:
  CategoricalCrossEntropyOptions options_;
};

}  // namespace dtnn

#endif  // DTNN_OPTIM_LOSSES_CATEGORICAL_CROSS_ENTROPY_H_
