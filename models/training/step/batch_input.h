// What plans take of a batch, for the parts of step_engine.h.

#ifndef DTNN_MODELS_TRAINING_STEP_BATCH_INPUT_H_
#define DTNN_MODELS_TRAINING_STEP_BATCH_INPUT_H_

#include "data/loading/loader.h"
#include "models/plan/plan.h"
#include "tensor/tensor.h"

namespace dtnn {

inline const Tensor& LossTargets(const Batch& batch) {
  return batch.mixed_targets.empty() ? batch.targets : batch.mixed_targets;
}

inline PlanInput InputOf(const Batch& batch) { return {batch.x, batch.changes, batch.bytes}; }

}  // namespace dtnn

#endif  // DTNN_MODELS_TRAINING_STEP_BATCH_INPUT_H_
