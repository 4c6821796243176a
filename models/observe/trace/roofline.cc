#include "models/observe/trace/roofline.h"

#include <algorithm>

namespace dtnn {
namespace {

double Divide(double work, double speed) { return speed > 0 ? work / speed : 0; }

}  // namespace

LayerWork WorkOf(const LayerFacts& layer, const LayerPasses& passes) {
  // Parameters are read by both passes, and their gradients written by one.
  return {.flops = layer.forward_flops * double(passes.forward_samples) +
                   layer.backward_flops * double(passes.backward_samples),
          .bytes = layer.forward_bytes * double(passes.forward_samples) +
                   layer.backward_bytes * double(passes.backward_samples) +
                   layer.parameter_bytes * double(passes.forward + 2 * passes.backward)};
}

LayerWork UpdateOf(const LayerFacts& layer) {
  return {.bytes = layer.last_gradient > layer.first_gradient ? 3 * layer.parameter_bytes : 0};
}

double SecondsAtBest(const LayerWork& work, const MachineSpeed& machine) {
  return std::max(Divide(work.flops, machine.flops), Divide(work.bytes, machine.bytes));
}

StepAtBest StepSecondsAtBest(std::span<const LayerFacts> layers, int64_t samples,
                             const MachineSpeed& machine) {
  StepAtBest step;
  const LayerPasses passes = {
      .forward = 1, .forward_samples = samples, .backward = 1, .backward_samples = samples};
  for (const LayerFacts& layer : layers) {
    step.passes += SecondsAtBest(WorkOf(layer, passes), machine);
    step.update += SecondsAtBest(UpdateOf(layer), machine);
  }
  return step;
}

}  // namespace dtnn
