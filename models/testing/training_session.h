// A small network that learns patterns, with all that a run of it consists of made anew: what the
// tests of training begin with.

#ifndef DTNN_MODELS_TESTING_TRAINING_SESSION_H_
#define DTNN_MODELS_TESTING_TRAINING_SESSION_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "data/dataset.h"
#include "data/loading/loader.h"
#include "models/graph/graph.h"
#include "models/parameters/parameter_store.h"
#include "models/training/callback.h"
#include "models/training/trainer.h"

namespace dtnn::testing {

inline constexpr ImageExtents kPatternSample = {8, 8, 1};

// Four classes, each with a pattern of its own; 40 test samples.
std::shared_ptr<const Dataset> Patterns(int64_t samples);
Graph PatternMlp(TensorFormat format = TensorFormat::kNHWC);
// Cross entropy, accuracy, SGD.
TrainerOptions PatternTraining();

// Keeps the metrics of every epoch.
class Recorder : public Callback {
 public:
  absl::Status OnEpochEnd(const Pass& training, const Pass* validation) override;
  absl::Status OnBatchEnd(const Pass& pass) override;

  std::vector<double> losses, accuracies, validation_losses;
  std::vector<int64_t> samples;
  int epochs_wanted = 0;  // then `trainer` is stopped
  Trainer* trainer = nullptr;
};

struct SessionOptions {
  TrainerOptions training = PatternTraining();
  DType dtype = DType::kFloat32;
  int64_t samples = 60;
  double validation_split = 0.2;
  LoaderOptions loading = {.batch = 9, .seed = 2};  // of training; with `dtype`
};

// One rank's part of a run.
struct TrainingSession {
  explicit TrainingSession(const Graph& graph, const SessionOptions& options = {});
  // Until `epochs` are done. `record` comes after the callbacks.
  absl::Status Train(int64_t epochs, std::vector<Callback*> callbacks = {});

  std::unique_ptr<DeviceContext> device;
  std::unique_ptr<ParameterStore> store;
  std::unique_ptr<Trainer> trainer;
  std::unique_ptr<Loader> training, validation;  // no validation: null
  Recorder record;
};

// What a checkpoint carries over besides the state: parameters, and optimizer state where both have
// it.
void CopyParameters(const TrainingSession& from, TrainingSession& to);

}  // namespace dtnn::testing

#endif  // DTNN_MODELS_TESTING_TRAINING_SESSION_H_
