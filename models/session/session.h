// A network, its parameters and what trains them, in one object: for programs that want to train,
// measure and save a model without putting the parts together themselves.
//
//   auto data = OpenDataset("mnist", {.path = folder});
//   Network net = Network("mine").Input(**data).Conv2d(8).Relu().Flatten().Fc(10).Softmax();
//   auto session = Session::Create(net, {.optimizer = "adam", .learning_rate = 1e-3});
//   absl::Status trained = (*session)->Fit(**data, {.epochs = 5});
//   auto metrics = (*session)->Evaluate(**data);
//   absl::Status saved = (*session)->Save("mine.safetensors");  // for Predictor::Load
//
// The parts are accessible: graph(), store(), trainer(). Errors name the fields of the options. Not
// for two threads at once. Several ranks (comm/ranks/job/rank_process.h) each make a session with
// their communicator, and call Fit, Evaluate and Save together.

#ifndef DTNN_MODELS_SESSION_SESSION_H_
#define DTNN_MODELS_SESSION_SESSION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "data/dataset.h"
#include "data/loading/loader.h"
#include "data/normalize.h"
#include "data/transforms/transform.h"
#include "kernels/device/context.h"
#include "models/graph/graph.h"
#include "models/parameters/parameter_store.h"
#include "models/run/objects/network.h"
#include "models/serving/saved_model.h"
#include "models/session/choice.h"
#include "models/training/callback.h"
#include "models/training/metric_averages.h"
#include "models/training/trainer.h"
#include "optim/losses/loss.h"
#include "optim/metrics/metric.h"
#include "optim/optimizers/optimizer.h"
#include "optim/schedulers/scheduler.h"
#include "tensor/dtype.h"
#include "tensor/format.h"

namespace dtnn {

struct SessionOptions {
  // By name (optim/losses/losses.h, ...) or as an object. Not set: a new session takes
  // categorical_cross_entropy, adam and 0.001, a loaded one what the file says.
  std::optional<Choice<Loss>> loss = {};
  std::optional<Choice<Optimizer>> optimizer = {};
  std::optional<double> learning_rate = {};
  std::vector<Choice<Metric>> metrics = {"categorical_accuracy"};
  // Of initial values, the order of samples, dropout and random transforms.
  uint64_t seed = 0;
  TensorFormat format = TensorFormat::kNHWC;
  DType dtype = DType::kFloat32;
  // Null: one rank; must outlive the session.
  Communicator* communicator = nullptr;
};

struct FitOptions {
  int64_t epochs = 1;  // more of them, from where the session is
  int64_t batch = 64;  // samples per step and rank
  // Share of the training samples that is held out: metrics called "val_..." are of them. [0, 1)
  double validation_split = 0;
  bool shuffle = true;
  int64_t steps_per_epoch = 0;  // 0: as many as the samples give
  // Shift and scale every channel to mean 0 and deviation 1 over the training samples. Decided by
  // the first Fit; later calls, Evaluate and Save go by it.
  bool standardize = false;
  TransformList transforms = {};  // random changes of training samples
  // Rates, early stopping. Those that save files need a Schedule of your own among the callbacks.
  std::vector<std::shared_ptr<Scheduler>> schedulers = {};
  std::vector<Callback*> callbacks = {};  // must outlive the call
};

struct EvaluateOptions {
  Split split = Split::kTest;
  int64_t batch = 64;
};

// The loss and the metrics, by name, in the order in which they were asked for. Accuracies are in
// per cent.
class MetricValues {
 public:
  explicit MetricValues(const MetricAverages& averages);
  // NaN for a name that is not among them.
  double operator[](std::string_view name) const;
  const NamedMetrics& all() const& { return all_; }
  NamedMetrics all() && { return std::move(all_); }

 private:
  NamedMetrics all_;
};

class Session {
 public:
  // NotFound for an unknown name; errors of the network name its layer.
  static absl::StatusOr<std::unique_ptr<Session>> Create(const Network& network,
                                                         const SessionOptions& options = {});
  // Continues with a saved model: its network, parameters, preprocessing, class names, format and
  // dtype; and its loss, optimizer and learning rate unless `options` sets them. The optimizer
  // starts with a new state. InvalidArgument for a loss or optimizer that is known by no name here
  // and is not set.
  static absl::StatusOr<std::unique_ptr<Session>> Load(std::string_view path,
                                                       SessionOptions options = {});

  // InvalidArgument for data of another size or number of outputs than the network's, and for
  // invalid options; OutOfRange when training diverges. `data` must outlive the call.
  absl::Status Fit(const Dataset& data, const FitOptions& options = {});
  absl::StatusOr<MetricValues> Evaluate(const Dataset& data, const EvaluateOptions& options = {});
  // Writes one file with network, parameters, preprocessing, class names and how it was trained
  // (models/serving/saved_model.h). Rank 0 writes.
  absl::Status Save(std::string_view path) const;

  const Graph& graph() const { return model_.graph; }
  ParameterStore& store() { return *store_; }
  DeviceContext& context() { return *context_; }
  Trainer& trainer() { return *trainer_; }

 private:
  Session(const SessionOptions& options, SavedModel model)
      : options_(options), model_(std::move(model)) {}

  absl::Status Init();
  absl::Status CheckData(const Dataset& data) const;
  absl::Status Preprocess(const Dataset& data, const std::vector<int64_t>* standardized);
  absl::StatusOr<std::unique_ptr<Loader>> MakeLoader(const Dataset& data, Split split,
                                                     std::vector<int64_t> indices,
                                                     LoaderOptions options) const;

  const SessionOptions options_;
  SavedModel model_;
  int64_t epochs_before_ = 0;    // of the file that it was loaded from
  bool fitted_ = false;          // or loaded: the preprocessing is decided
  Normalization normalization_;  // after the data set's own
  std::unique_ptr<DeviceContext> context_;
  std::unique_ptr<ParameterStore> store_;
  std::unique_ptr<Trainer> trainer_;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_SESSION_SESSION_H_
