// Decides which memory every activation, gradient and saved state of a plan lives in.
//
// A step has 2N + 2 moments for a graph of N nodes: node i runs forward at moment i, the loss at N,
// node i backward at 2N - i, and at 2N + 1 the caller reads the predictions. Each value is alive
// from the moment it is written to the last that reads it; `PlaceBuffers` packs them.
//
// Values share one buffer where that is proven safe:
//   a view (Flatten, Dropout in evaluation) is its input under another shape;
//   an op that may run in place writes over its input when nobody else reads that input: it has one
//     consumer, is not the batch itself, and no backward pass needs it;
//   a relu absorbed by the convolution or matrix product before it never ran at all;
//   a gradient may become the gradient of the op's input when that input has one consumer.

#ifndef DTNN_MODELS_PLAN_LAYOUT_H_
#define DTNN_MODELS_PLAN_LAYOUT_H_

#include <cstdint>
#include <vector>

#include "layers/layer.h"
#include "models/graph.h"
#include "models/memory_plan.h"

namespace dtnn {

struct PlanLayout {
  static constexpr int kNone = -1;   // no such value
  static constexpr int kBatch = -2;  // the caller's batch, or its copy on the device

  // Per node: indices into `buffers`.
  std::vector<int> activation, gradient, state;
  // Per node and input: add to the input's gradient instead of overwriting it.
  std::vector<std::vector<uint8_t>> accumulate;
  // Per node: whether anything before it, or itself, has parameters to train.
  std::vector<uint8_t> needs_gradient;
  int losses = kNone;
  std::vector<PlannedBuffer> buffers;
  size_t arena_bytes = 0;
};

struct PlanLayoutOptions {
  int64_t batch = 0;
  DType dtype = DType::kFloat32;
  bool training = false;
  bool loss_takes_logits = false;  // the last node, a softmax, is left to the loss
};

// `traits` and `absorbed` (relus applied by the node before) have an entry per node.
PlanLayout MakePlanLayout(const Graph& graph, const std::vector<LayerOpTraits>& traits,
                          const std::vector<uint8_t>& absorbed, const PlanLayoutOptions& options);

// The consumers of every node's output, one entry per use.
std::vector<std::vector<int>> ConsumersOf(const Graph& graph);

}  // namespace dtnn

#endif  // DTNN_MODELS_PLAN_LAYOUT_H_
