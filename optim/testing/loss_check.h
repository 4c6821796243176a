// Runs a loss on the CPU, and checks its gradient against central differences.

#ifndef DTNN_OPTIM_TESTING_LOSS_CHECK_H_
#define DTNN_OPTIM_TESTING_LOSS_CHECK_H_

#include <vector>

#include "gtest/gtest.h"
#include "optim/losses/loss.h"

namespace dtnn::testing {

struct LossResult {
  absl::Status status;
  std::vector<double> losses, probabilities, gradient;  // probabilities: zero unless from logits
};

// x: (n, outputs), or images in `format`, left as it is.
LossResult RunLoss(const Loss& loss, const Tensor& x, const Tensor& targets, bool from_logits,
                   double gradient_scale, TensorFormat format = TensorFormat::kNHWC);

// x is float64 and away from kinks. The gradient must be the derivative of gradient_scale times the
// sum of the losses, also where dx and probabilities overwrite x, where only losses are wanted, or
// where vectors and their gradients are columns of wider matrices.
::testing::AssertionResult CheckLossGradient(const Loss& loss, const Tensor& x,
                                             const Tensor& targets, bool from_logits,
                                             TensorFormat format = TensorFormat::kNHWC);

}  // namespace dtnn::testing

#endif  // DTNN_OPTIM_TESTING_LOSS_CHECK_H_
