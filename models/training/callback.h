// What happens during training besides training: progress, histories, schedules, checkpoints. The
// trainer calls every callback in the order given, on every rank. An error ends the run; a callback
// that wants it to end without one calls Pass::trainer->Stop().

#ifndef DTNN_MODELS_TRAINING_CALLBACK_H_
#define DTNN_MODELS_TRAINING_CALLBACK_H_

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>

#include "absl/status/status.h"
#include "data/loading/loader.h"
#include "models/training/step/metric_averages.h"

namespace dtnn {

class Trainer;

// A pass over a data set: an epoch of training, or an evaluation.
struct Pass {
  enum class Kind : uint8_t { kTraining, kValidation, kTest };
  Kind kind = Kind::kTraining;
  Trainer* trainer = nullptr;     // which runs it
  int64_t epoch = 0, epochs = 0;  // from 0; of training and its validation
  int64_t step = 0, steps = 0;    // batches done, and of the whole pass
  int64_t samples = 0;            // of the whole pass, over all ranks
  int64_t done = 0;               // samples seen so far, over all ranks
  // At the end of training with differential privacy for each sample: what all of it has revealed.
  std::optional<double> epsilon = {};
  const MetricAverages* averages = nullptr;  // this rank's during the pass, all ranks' at its end
  // In OnBatchEnd of an evaluation, this rank's batch and what the network says of it, on the host;
  // null where it has none in this step.
  const Batch* batch = nullptr;
  const Tensor* predictions = nullptr;
};

// What Pass::epsilon is called among metrics.
inline constexpr char kEpsilonName[] = "dp_epsilon";

// The metrics of an epoch by name, those of validation after "val_"; null: there was none. After
// them the epsilon, with differential privacy.
inline NamedMetrics MetricsOf(const Pass& training, const Pass* validation) {
  NamedMetrics metrics = training.averages->Values();
  if (validation != nullptr) {
    std::ranges::move(validation->averages->Values("val_"), std::back_inserter(metrics));
  }
  if (training.epsilon) metrics.emplace_back(kEpsilonName, *training.epsilon);
  return metrics;
}

class Callback {
 public:
  virtual ~Callback() = default;
  virtual absl::Status OnPassBegin(const Pass& /*pass*/) { return absl::OkStatus(); }
  virtual absl::Status OnBatchBegin(const Pass& /*pass*/) { return absl::OkStatus(); }
  virtual absl::Status OnBatchEnd(const Pass& /*pass*/) { return absl::OkStatus(); }
  virtual absl::Status OnPassEnd(const Pass& /*pass*/) { return absl::OkStatus(); }
  // After validation; `validation` is null without validation data.
  virtual absl::Status OnEpochEnd(const Pass& /*training*/, const Pass* /*validation*/) {
    return absl::OkStatus();
  }
  // In a client of a federation, before the first epoch of a round. Rounds count from 1;
  // `epochs_done`: those that the trainer counts before it.
  virtual absl::Status OnRoundBegin(int64_t /*round*/, int64_t /*rounds*/,
                                    int64_t /*epochs_done*/) {
    return absl::OkStatus();
  }
};

}  // namespace dtnn

#endif  // DTNN_MODELS_TRAINING_CALLBACK_H_
