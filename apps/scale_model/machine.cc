#include "apps/scale_model/machine.h"

#include "comm/ranks/gradients/cost_model_measure.h"
#include "kernels/peak/peak.h"
#include "tensor/status_macros.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

// A network may have nothing to train, and so no update.
double Ratio(double there, double here) { return here > 0 ? there / here : 1; }

}  // namespace

StepProfile OtherMachine::Apply(StepProfile step) const {
  for (StepProfile::Event& event : step.ready) event.seconds *= passes;
  step.backward_seconds *= passes;
  step.update_seconds *= update;
  return step;
}

absl::StatusOr<OtherMachine> MeasureOtherMachine(const MachineOptions& options,
                                                 std::span<const LayerFacts> layers,
                                                 int64_t samples, DType dtype,
                                                 Communicator* communicator) {
  const int threads = NumThreads();
  // Those of the slowest rank, as the times of the step are.
  double seconds[] = {1 / (MeasureFmaPeakGflops(threads, dtype) * 1e9),
                      1 / (MeasureCopyBandwidth(threads) * 1e9)};
  if (communicator != nullptr) DTNN_RETURN_IF_ERROR(TakeLargest(*communicator, seconds));
  const MachineSpeed measured = {.flops = 1 / seconds[0], .bytes = 1 / seconds[1]};
  OtherMachine machine = {.here = measured, .there = measured};
  if (options.cpu_speed > 0) machine.there.flops = options.cpu_speed;
  if (options.memory_bw > 0) machine.there.bytes = options.memory_bw;
  const StepAtBest here = StepSecondsAtBest(layers, samples, machine.here);
  const StepAtBest there = StepSecondsAtBest(layers, samples, machine.there);
  machine.passes = Ratio(there.passes, here.passes);
  machine.update = Ratio(there.update, here.update);
  return machine;
}

}  // namespace dtnn
