// Another machine than this one, as options describe it: what its steps would take.

#ifndef DTNN_APPS_SCALE_MODEL_MACHINE_H_
#define DTNN_APPS_SCALE_MODEL_MACHINE_H_

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "comm/ranks/gradients/cost_model.h"
#include "models/observe/trace/layer_facts.h"
#include "models/observe/trace/roofline.h"
#include "tensor/dtype.h"

namespace dtnn {

struct MachineOptions {
  double cpu_speed = 0, memory_bw = 0;  // operations, bytes copied, per second; 0: as here
};

struct OtherMachine {
  MachineSpeed here, there;  // as measured; as described
  // The times of a step there by those here: of forward and backward pass, and of the update.
  double passes = 1, update = 1;

  // `step` as it would be there. Each layer reaches the same share of what the machine can do.
  StepProfile Apply(StepProfile step) const;
};

// This machine for a network with these layers, in steps of `samples`. All ranks call it together,
// measure at once and get the same; `communicator` null: one rank.
absl::StatusOr<OtherMachine> MeasureOtherMachine(const MachineOptions& options,
                                                 std::span<const LayerFacts> layers,
                                                 int64_t samples, DType dtype,
                                                 Communicator* communicator);

}  // namespace dtnn

#endif  // DTNN_APPS_SCALE_MODEL_MACHINE_H_
