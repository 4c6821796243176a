// The progress of a training run, besides its parameters and optimizer state: what the trainer
// counts while it runs, and what a checkpoint stores so that a resumed run continues as if it had
// never stopped.
//
// Data order, dropout and augmentation are pure functions of a seed and of counters, so there is no
// generator to keep.

#ifndef DTNN_MODELS_CHECKPOINT_TRAINING_STATE_H_
#define DTNN_MODELS_CHECKPOINT_TRAINING_STATE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/normalize.h"
#include "tensor/tensor.h"

namespace dtnn {

// What happens to the samples of an epoch.
struct SampleTreatment {
  bool shuffle = true;
  std::vector<std::string> transforms = {};  // as ToStrings gives them (transform.h)
  Normalization normalization = {};

  friend bool operator==(const SampleTreatment&, const SampleTreatment&) = default;
};

// Which samples an epoch consists of, in which order, and how they are divided into steps. What a
// resumed run may change of it: sampler_settings.h.
struct SamplerSettings {
  int64_t batch = 0;  // samples per rank in a full step
  int64_t ranks = 1;
  int64_t samples = 0;  // of an epoch, over all ranks
  int64_t steps_per_epoch = 0;
  uint64_t seed = 0;
  std::optional<SampleTreatment> treatment = {};  // none in files of older versions
  // Each rank has samples of its own: its steps are of its own `batch`.
  bool own_data = false;
  // Samples of the epoch in progress that were done before its first step: in steps of other
  // batches, or of other ranks.
  int64_t first = 0;

  friend bool operator==(const SamplerSettings&, const SamplerSettings&) = default;
};

// The loss and every metric, summed over so many samples.
struct MetricSums {
  std::vector<std::string> names = {};  // none in files of older versions
  std::vector<double> sums = {};
  int64_t samples = 0;

  friend bool operator==(const MetricSums&, const MetricSums&) = default;
};

// What an epoch came to, by name.
struct EpochRecord {
  int64_t epoch = 0;  // finished epochs, from 1
  std::vector<std::pair<std::string, double>> metrics = {};

  friend bool operator==(const EpochRecord&, const EpochRecord&) = default;
};

struct TrainingState {
  int64_t epoch = 0;          // in progress or next, from 0
  int64_t step_in_epoch = 0;  // steps of that epoch that are done, after `sampler.first` samples
  int64_t steps_done = 0;     // of the whole run
  bool ended = false;         // a scheduler ended training with the epoch before `epoch`
  double learning_rate = 0;
  uint64_t random_seed = 0;

  MetricSums metrics = {};  // of what is done of the epoch in progress, over all ranks

  // With differential privacy of samples, what steps have revealed (RenyiAccountant::spent); else
  // empty.
  std::vector<double> privacy_spent = {};

  // By scheduler, its state (best value so far, epochs waited, ...).
  std::map<std::string, std::vector<double>, std::less<>> schedulers = {};

  // By scheduler, the name without its folder of the file that it wrote last, for the next one to
  // take its place.
  std::map<std::string, std::string, std::less<>> files = {};

  // By scheduler, the epoch whose parameters it keeps. None in files of older versions.
  std::map<std::string, EpochRecord, std::less<>> kept_epochs = {};

  SamplerSettings sampler = {};

  // Whether `epoch` has begun.
  bool in_epoch() const { return step_in_epoch > 0 || sampler.first > 0; }

  friend bool operator==(const TrainingState&, const TrainingState&) = default;
};

// What ranks keep of an exchange of gradients that leaves some over (Optimizer::sparse_sum).
struct ExchangeState {
  // The last slot of the ranks 1, 2, ...: on the host, laid out as ParameterStore::values. Fewer
  // ranks where others are lost.
  std::vector<Tensor> leftovers = {};
  // How the exchange continues (TopKAllReduce::GatherState); empty: anew.
  std::vector<double> values = {};
};

}  // namespace dtnn

#endif  // DTNN_MODELS_CHECKPOINT_TRAINING_STATE_H_
