// What happens around training besides training: progress, histories, schedules, checkpoints. The
// trainer calls every callback in the order given, on every rank.

#ifndef DTNN_MODELS_CALLBACK_H_
#define DTNN_MODELS_CALLBACK_H_

#include <cstdint>

#include "models/averages.h"

namespace dtnn {

// A pass over a data set: an epoch of training, or an evaluation.
struct Pass {
  enum class Kind : uint8_t { kTraining, kValidation, kTest };
  Kind kind = Kind::kTraining;
  int64_t epoch = 0, epochs = 0;       // from 0; of training and its validation
  int64_t samples = 0;                 // of the whole pass, over all ranks
  int64_t done = 0;                    // samples seen so far, over all ranks
  const Averages* averages = nullptr;  // this rank's during the pass, all ranks' at its end
};

class Callback {
 public:
  virtual ~Callback() = default;
  virtual void OnPassBegin(const Pass& /*pass*/) {}
  virtual void OnBatchEnd(const Pass& /*pass*/) {}
  virtual void OnPassEnd(const Pass& /*pass*/) {}
  // After validation; `validation` is null without validation data. Return false to stop training.
  virtual bool OnEpochEnd(const Pass& /*training*/, const Pass* /*validation*/) { return true; }
};

}  // namespace dtnn

#endif  // DTNN_MODELS_CALLBACK_H_
