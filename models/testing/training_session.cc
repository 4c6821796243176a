#include "models/testing/training_session.h"

#include <cstring>
#include <utility>

#include "data/datasets/synthetic.h"
#include "data/loading/split.h"
#include "gtest/gtest.h"
#include "models/zoo/zoo.h"
#include "optim/losses/categorical_cross_entropy.h"
#include "optim/metrics/categorical_accuracy.h"
#include "optim/optimizers/sgd.h"
#include "tensor/dtype.h"

namespace dtnn::testing {

std::shared_ptr<const Dataset> Patterns(int64_t samples) {
  return *MakeSynthetic({.train_samples = samples,
                         .test_samples = 40,
                         .sample = kPatternSample,
                         .classes = 4,
                         .pattern = SyntheticPattern::kClasses,
                         .seed = 3});
}

Graph PatternMlp(TensorFormat format) {
  return *BuildModel("simplemlp", {.format = format, .sample = kPatternSample, .classes = 4});
}

TrainerOptions PatternTraining() {
  TrainerOptions options;
  options.metric_set = {std::make_shared<CategoricalCrossEntropy>(),
                        {std::make_shared<CategoricalAccuracy>()}};
  options.optimizer = std::make_shared<Sgd>();
  options.learning_rate = 0.05;
  return options;
}

absl::Status Recorder::OnEpochEnd(const Pass& training, const Pass* validation) {
  losses.push_back(training.averages->Value(0));
  accuracies.push_back(training.averages->Value(1));
  samples.push_back(training.averages->samples());
  if (validation != nullptr) validation_losses.push_back(validation->averages->Value(0));
  if (int(losses.size()) == epochs_wanted) trainer->Stop();
  return absl::OkStatus();
}

absl::Status Recorder::OnBatchEnd(const Pass& pass) {
  EXPECT_LE(pass.done, pass.samples);
  EXPECT_LE(pass.step, pass.steps);
  return absl::OkStatus();
}

TrainingSession::TrainingSession(const Graph& graph, const SessionOptions& options)
    : device(*DeviceContext::Create(Device::Cpu())),
      store(*ParameterStore::Create(graph, *device, options.dtype, 1)),
      trainer(*Trainer::Create(graph, *store, *device, options.training)) {
  const TrainValidation divided = *SplitIndices(options.samples, options.validation_split, 1);
  LoaderOptions loading = options.loading;
  loading.dtype = options.dtype;
  training = *Loader::Create(Patterns(options.samples), Split::kTrain, divided.train, loading);
  if (divided.validation.empty()) return;
  validation = *Loader::Create(Patterns(options.samples), Split::kTrain, divided.validation,
                               {.batch = 5, .dtype = options.dtype});
}

absl::Status TrainingSession::Train(int64_t epochs, std::vector<Callback*> callbacks) {
  callbacks.push_back(&record);
  return trainer->Train(*training, validation.get(), epochs - trainer->epochs_done(), callbacks);
}

void CopyParameters(const TrainingSession& from, TrainingSession& to) {
  const auto copy = [](const Tensor& a, const Tensor& b) {
    ASSERT_EQ(a.num_elements(), b.num_elements());
    std::memcpy(b.raw_data(), a.raw_data(), size_t(a.num_elements()) * SizeOf(a.dtype()));
  };
  copy(from.store->all_values(), to.store->all_values());
  for (size_t i = 0; i < from.store->slots().size(); ++i) {
    copy(from.store->slots()[i], to.store->slots()[i]);
  }
  to.store->MarkChanged();
}

}  // namespace dtnn::testing
