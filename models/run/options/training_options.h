// How long a run trains, on how many samples per step, and what it measures.

#ifndef DTNN_MODELS_RUN_OPTIONS_TRAINING_OPTIONS_H_
#define DTNN_MODELS_RUN_OPTIONS_TRAINING_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "models/run/options/option_names.h"

namespace dtnn {

struct TrainingOptions {
  std::optional<int64_t> batch = {};         // samples per step and rank; see BatchSizePerRank
  std::optional<int64_t> global_batch = {};  // samples per step over all ranks
  int64_t epochs = 1;
  double steps_per_epoch = 0;          // 0: all samples
  int64_t accumulate_steps = 1;        // batches per update
  std::string loss = {};               // empty: as a model file says, or LossOf
  OptionNames metrics = std::nullopt;  // not set: those that suit the data
  double clip_norm = 0;                // 0: gradients are not clipped
  // Differential privacy for each sample (models/training/privacy/private_gradients.h); clip 0:
  // none.
  double dp_sgd_clip = 0, dp_sgd_noise = 0, dp_sgd_delta = 1e-5;
  double label_smoothing = 0;
  std::string class_weights = {};  // "balanced", a list or a file.txt; empty: all 1
  int64_t seed = 57005;            // of initial values, the order of samples, dropout, transforms
  bool evaluate = false;           // on the test data, before and after training
  bool evaluate_only = false;

  friend bool operator==(const TrainingOptions&, const TrainingOptions&) = default;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_OPTIONS_TRAINING_OPTIONS_H_
