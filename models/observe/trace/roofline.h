// The least time that a machine needs for what a layer does: its operations at the peak, or its
// bytes at the bandwidth, whichever takes longer (Williams, Waterman and Patterson, "Roofline: an
// insightful visual performance model", Communications of the ACM 52, 2009).

#ifndef DTNN_MODELS_OBSERVE_TRACE_ROOFLINE_H_
#define DTNN_MODELS_OBSERVE_TRACE_ROOFLINE_H_

#include <cstdint>
#include <span>

#include "models/observe/trace/layer_facts.h"

namespace dtnn {

// What a machine could do at best, per second; 0: not known. Bytes are read and written by a copy.
struct MachineSpeed {
  double flops = 0, bytes = 0;
};

// Passes of a layer, together: how often, and over how many samples.
struct LayerPasses {
  int64_t forward = 0, forward_samples = 0;
  int64_t backward = 0, backward_samples = 0;
};

// Operations, and bytes that must be moved.
struct LayerWork {
  double flops = 0, bytes = 0;
};

LayerWork WorkOf(const LayerFacts& layer, const LayerPasses& passes);

// An update reads parameters and gradients, and writes parameters.
LayerWork UpdateOf(const LayerFacts& layer);

// Seconds; where a speed is not known, by the other one.
double SecondsAtBest(const LayerWork& work, const MachineSpeed& machine);

// Seconds of a step's forward and backward passes over `samples`, layer by layer, and of its
// update.
struct StepAtBest {
  double passes = 0, update = 0;
};
StepAtBest StepSecondsAtBest(std::span<const LayerFacts> layers, int64_t samples,
                             const MachineSpeed& machine);

}  // namespace dtnn

#endif  // DTNN_MODELS_OBSERVE_TRACE_ROOFLINE_H_
