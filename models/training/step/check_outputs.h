// Whether the outputs of a network are what a loss is defined for. A cross entropy of other numbers
// than probabilities is a number too, and training would continue with it.

#ifndef DTNN_MODELS_TRAINING_STEP_CHECK_OUTPUTS_H_
#define DTNN_MODELS_TRAINING_STEP_CHECK_OUTPUTS_H_

#include "absl/status/status.h"
#include "models/graph/graph.h"
#include "optim/losses/loss.h"

namespace dtnn {

// InvalidArgument for a loss of probabilities after a last layer that gives none: FC, Conv2D, an
// activation; and, where the probabilities must sum to 1, a sigmoid. Layers of the caller's own
// pass: they may give what they like.
absl::Status CheckOutputs(const Graph& graph, const Loss& loss);

}  // namespace dtnn

#endif  // DTNN_MODELS_TRAINING_STEP_CHECK_OUTPUTS_H_
