// Decides which memory every activation, gradient and saved state of a plan lives in.
//
// A step has 2N + 2 moments for a graph of N nodes: node i runs forward at moment i, the loss at N,
// node i backward at 2N - i, and at 2N + 1 the caller reads the predictions. Each value is alive
// from the moment it is written to the last that reads it; `PlaceBuffers` packs them.
//
// Values share one buffer where that is proven safe, and all have one type:
//   a view (Flatten, Dropout in evaluation) is its input under another shape;
//   an op that may run in place writes over its input when nobody else reads that input: it has one
//     consumer, is not the batch itself, and no backward pass needs it;
//   what an op applies in its write-back (fusion.h) never runs at all; where the op before or after
//     a relu applies its gradient too, its output is not kept either, and the addend's gradient is
//     written with those of the inputs of the op that adds it;
//   a gradient may become the gradient of the op's input when that input has one consumer, or that
//     of its addend when no later reader has one; or an op that is the last to read its output
//     writes its input's gradient there;
//   an input of a concatenation is written where the concatenation holds it (and likewise what
//     holds that concatenation), so a dense block lives in one buffer; so are gradients, backwards.
//     A value that stands in several concatenations, or several times in one, is copied to all but
//     one of these places; so is the batch, an image that is also seen under another shape, a value
//     still to be read when an op writes over the concatenation in place, and a value for which an
//     op requires dense memory.

#ifndef DTNN_MODELS_PLAN_PLAN_LAYOUT_H_
#define DTNN_MODELS_PLAN_PLAN_LAYOUT_H_

#include <cstdint>
#include <vector>

#include "layers/base/layer.h"
#include "models/graph/graph.h"
#include "models/plan/memory_plan.h"

namespace dtnn {

// Where a value lives: a buffer, or a range of the channels of the images in it.
struct PlannedValue {
  int buffer = -1;  // index into PlanLayout::buffers, or kNone or kBatch
  int64_t first_channel = 0;
  int64_t channels = 0;  // of the buffer's images; 0: the value is the whole, dense buffer

  bool dense() const { return channels == 0; }
  friend bool operator==(const PlannedValue&, const PlannedValue&) = default;
};

// Bytes. Arena, workspace and what is kept are what a plan allocates; `activations`, `gradients`
// and `state` are what lives in the arena at the moment when most does.
struct PlanMemory {
  size_t activations = 0;  // kept for layers to come and for the backward pass
  size_t gradients = 0;    // of activations
  size_t state = 0;        // what layers keep for their own backward pass
  size_t arena = 0;        // these three, and gaps between them
  size_t workspace = 0;    // shared by all layers
  size_t kept = 0;  // what layers keep from step to step: packed filters, statistics of a batch

  size_t total() const { return arena + workspace + kept; }
};

struct PlanLayout {
  static constexpr int kNone = -1;   // no such value
  static constexpr int kBatch = -2;  // the caller's batch, or its copy on the device

  // Per node.
  std::vector<PlannedValue> activation, gradient;
  std::vector<int> state;  // indices into `buffers`
  // Per node and input: add to the input's gradient instead of overwriting it.
  std::vector<std::vector<uint8_t>> accumulate;
  std::vector<uint8_t> needs_gradient;  // per node, in training: as NeedsGradient says
  int losses = kNone;
  std::vector<PlannedBuffer> buffers;
  PlanMemory memory;  // without the workspace and what is kept
};

struct PlanLayoutOptions {
  int64_t batch = 0;
  DType dtype = DType::kFloat32;  // of losses
  // Of each node's output and its gradient; empty: all as the losses.
  std::vector<DType> value_dtypes = {};
  bool training = false;
  bool loss_takes_logits = false;  // the last node, a softmax, is left to the loss
};

// `traits` and `absorber` (the node whose op applies this one too; -1: none) have an entry per
// node.
PlanLayout MakePlanLayout(const Graph& graph, const std::vector<LayerOpTraits>& traits,
                          const std::vector<int>& absorber, const PlanLayoutOptions& options);

// Per node: whether anything before it, or itself, has parameters to train. The backward pass comes
// to no other.
std::vector<uint8_t> NeedsGradient(const Graph& graph);

// The consumers of every node's output, one entry per use.
std::vector<std::vector<int>> ConsumersOf(const Graph& graph);

}  // namespace dtnn

#endif  // DTNN_MODELS_PLAN_PLAN_LAYOUT_H_
