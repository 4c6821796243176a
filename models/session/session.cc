#include "models/session/session.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "data/loading/channel_statistics.h"
#include "data/loading/split.h"
#include "models/callbacks/last_metrics.h"
#include "models/callbacks/schedule.h"
#include "models/parameters/weights.h"
#include "optim/losses/losses.h"
#include "optim/metrics/metrics.h"
#include "optim/optimizers/optimizers.h"
#include "tensor/errors.h"
#include "tensor/files/array_file.h"

namespace dtnn {
namespace {

absl::StatusOr<std::shared_ptr<const Loss>> LossOf(const SessionOptions& options) {
  return options.loss.value_or("categorical_cross_entropy").Resolve([](const std::string& name) {
    return MakeLoss(name);
  });
}

absl::StatusOr<std::shared_ptr<const Optimizer>> OptimizerOf(const SessionOptions& options) {
  return options.optimizer.value_or("adam").Resolve(
      [](const std::string& name) { return MakeOptimizer(name); });
}

// What is not set is as the file says.
absl::Status FollowFile(std::string_view path, const ModelDescription& file,
                        SessionOptions& options) {
  const TrainingRecord& training = file.training;
  if (!options.loss && !file.loss.empty()) {
    DTNN_ASSIGN_OR_RETURN(options.loss, WithContext(MakeLoss(file.loss), path,
                                                    ": was trained with a loss of its own; set "
                                                    "SessionOptions::loss"));
  }
  if (!options.optimizer && !training.optimizer.empty()) {
    DTNN_ASSIGN_OR_RETURN(const OptimizerConstants constants,
                          WithContext(ConstantsFrom(training.constants), path));
    DTNN_ASSIGN_OR_RETURN(options.optimizer,
                          WithContext(MakeOptimizer(training.optimizer, constants), path,
                                      ": was trained with an optimizer of its own; set "
                                      "SessionOptions::optimizer"));
  }
  const double rate = training.learning_rate;
  if (!options.learning_rate && rate != 0) {
    if (!(rate > 0 && std::isfinite(rate))) {
      return InvalidArgument(path, ": has the learning rate ", rate, ", expected more than 0");
    }
    options.learning_rate = rate;
  }
  return absl::OkStatus();
}

// A loader keeps what it reads of alive; a session's loaders end before its callers' data do.
std::shared_ptr<const Dataset> Borrow(const Dataset& data) {
  return {std::shared_ptr<const Dataset>(), &data};
}

}  // namespace

MetricValues::MetricValues(const MetricAverages& averages) : all_(averages.Values()) {}

double MetricValues::operator[](std::string_view name) const {
  for (const auto& [known, value] : all_) {
    if (known == name) return value;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

absl::StatusOr<std::unique_ptr<Session>> Session::Create(const Network& network,
                                                         const SessionOptions& options) {
  SavedModel model;
  model.dtype = options.dtype;
  DTNN_ASSIGN_OR_RETURN(const std::shared_ptr<const Loss> loss, LossOf(options));
  DTNN_ASSIGN_OR_RETURN(model.graph, network.Build(options.format, *loss));
  std::unique_ptr<Session> session(new Session(options, std::move(model)));
  DTNN_RETURN_IF_ERROR(session->Init());
  return session;
}

absl::StatusOr<std::unique_ptr<Session>> Session::Load(std::string_view path,
                                                       SessionOptions options) {
  DTNN_ASSIGN_OR_RETURN(ArrayFileReader file, ArrayFileReader::Open(path));
  DTNN_ASSIGN_OR_RETURN(SavedModel model, ReadModel(file));
  options.format = model.graph.format();
  options.dtype = model.dtype;
  DTNN_RETURN_IF_ERROR(FollowFile(path, model.description, options));
  std::unique_ptr<Session> session(new Session(options, std::move(model)));
  DTNN_RETURN_IF_ERROR(session->Init());
  DTNN_ASSIGN_OR_RETURN(
      const StagedWeights weights,
      StagedWeights::Read(file, session->graph(), *session->store_, *session->context_, {}));
  DTNN_RETURN_IF_ERROR(weights.Apply(*session->store_, *session->context_));
  session->fitted_ = true;
  session->epochs_before_ = session->model_.description.training.epochs;
  return session;
}

absl::Status Session::Init() {
  MetricSet metric_set;
  DTNN_ASSIGN_OR_RETURN(metric_set.loss, LossOf(options_));
  for (const Choice<Metric>& metric : options_.metrics) {
    DTNN_ASSIGN_OR_RETURN(std::shared_ptr<const Metric> made,
                          metric.Resolve([](const std::string& name) { return MakeMetric(name); }));
    metric_set.metrics.push_back(std::move(made));
  }
  DTNN_ASSIGN_OR_RETURN(const std::shared_ptr<const Optimizer> optimizer, OptimizerOf(options_));
  DTNN_ASSIGN_OR_RETURN(context_, DeviceContext::Create(Device::Cpu()));
  DTNN_ASSIGN_OR_RETURN(
      store_, ParameterStore::Create(model_.graph, *context_, options_.dtype, options_.seed));
  const TrainerOptions training = {.metric_set = metric_set,
                                   .optimizer = optimizer,
                                   .learning_rate = options_.learning_rate.value_or(0.001),
                                   .random_seed = options_.seed,
                                   .communicator = options_.communicator};
  model_.description.loss = std::string(metric_set.loss->name());
  model_.description.conv_variant = training.conv_variant;
  model_.description.fusions = training.fusions;
  model_.description.training.optimizer = std::string(optimizer->name());
  model_.description.training.constants = optimizer->constants();
  model_.description.training.learning_rate = training.learning_rate;
  DTNN_ASSIGN_OR_RETURN(trainer_, Trainer::Create(model_.graph, *store_, *context_, training));
  return absl::OkStatus();
}

absl::Status Session::CheckData(const Dataset& data) const {
  const ImageExtents wanted = ExtentsOf(model_.graph.input_shape(), options_.format);
  const int64_t outputs = model_.graph.output_shape()[0];
  if (data.sample() == wanted && data.outputs() == outputs) return absl::OkStatus();
  const auto text = [](const ImageExtents& sample, int64_t count) {
    return StrCat("samples of ", sample.height, " x ", sample.width, " with ", sample.channels,
                  " channels and ", count, " outputs");
  };
  return InvalidArgument("data set ", data.name(), " has ", text(data.sample(), data.outputs()),
                         ", but network ", model_.graph.name(), " is for ", text(wanted, outputs));
}

absl::StatusOr<std::unique_ptr<Loader>> Session::MakeLoader(const Dataset& data, Split split,
                                                            std::vector<int64_t> indices,
                                                            LoaderOptions options) const {
  if (const Communicator* ranks = options_.communicator; ranks != nullptr) {
    options.rank = ranks->rank();
    options.ranks = ranks->size();
  }
  options.seed = options_.seed;
  options.format = options_.format;
  options.dtype = options_.dtype;
  options.normalization = normalization_;
  options.threads = LoaderThreads(data);
  return Loader::Create(Borrow(data), split, std::move(indices), options);
}

// Decides what samples are shown as, and what a file says of that; or finds that `data` cannot be
// shown as those before.
absl::Status Session::Preprocess(const Dataset& data, const std::vector<int64_t>* standardized) {
  Preprocessing now = data.preprocessing();
  if (!fitted_) {
    if (standardized != nullptr) {
      DTNN_ASSIGN_OR_RETURN(const ChannelStatistics statistics,
                            ComputeChannelStatistics(data, Split::kTrain, *standardized));
      DTNN_ASSIGN_OR_RETURN(normalization_, WithContext(Standardization(statistics), data.name()));
    }
    AddNormalization(normalization_, now);
    model_.preprocessing = now;
    model_.description.class_names = data.class_names();
    return absl::OkStatus();
  }
  const bool own = !now.normalization.offset.empty() || !now.normalization.scale.empty();
  normalization_ = own ? model_.preprocessing.then : model_.preprocessing.normalization;
  AddNormalization(normalization_, now);
  if (SamePreprocessing(now, model_.preprocessing, data.sample().channels)) return absl::OkStatus();
  return InvalidArgument("data set ", data.name(), " gives values as ", Describe(now),
                         ", but the model was trained on ", Describe(model_.preprocessing));
}

absl::Status Session::Fit(const Dataset& data, const FitOptions& options) {
  DTNN_RETURN_IF_ERROR(CheckData(data));
  if (options.epochs < 0) {
    return InvalidArgument("FitOptions::epochs is ", options.epochs, ", expected 0 or more");
  }
  DTNN_ASSIGN_OR_RETURN(
      const TrainValidation divided,
      SplitIndices(data.size(Split::kTrain), options.validation_split, options_.seed,
                   data.groups(Split::kTrain).begins, data.labels(Split::kTrain)));
  DTNN_RETURN_IF_ERROR(Preprocess(data, options.standardize ? &divided.train : nullptr));
  fitted_ = true;
  DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<Loader> training,
                        MakeLoader(data, Split::kTrain, divided.train,
                                   {.batch = options.batch,
                                    .shuffle = options.shuffle,
                                    .steps_per_epoch = options.steps_per_epoch,
                                    .transforms = options.transforms}));
  std::unique_ptr<Loader> validation;
  if (!divided.validation.empty()) {
    DTNN_ASSIGN_OR_RETURN(validation, MakeLoader(data, Split::kTrain, divided.validation,
                                                 {.batch = options.batch, .shuffle = false}));
  }
  Schedule schedule(*trainer_, *store_, *context_,
                    {.schedulers = options.schedulers, .first_epoch = trainer_->epochs_done()});
  LastMetrics last_metrics;
  std::vector<Callback*> callbacks = options.callbacks;
  EndOfRun end(*trainer_, schedule);
  callbacks.push_back(&schedule);
  callbacks.push_back(&last_metrics);
  callbacks.push_back(&end);
  const absl::Status status =
      trainer_->Train(*training, validation.get(), options.epochs, callbacks);
  TrainingRecord& record = model_.description.training;
  record.dataset = std::string(data.name());
  const int64_t done = trainer_->epochs_done();
  const EpochRecord epoch =
      schedule.restored().value_or(EpochRecord{.epoch = done, .metrics = last_metrics.values()});
  record.epochs = epochs_before_ + epoch.epoch;
  record.run_epochs = epoch.epoch < done ? epochs_before_ + done : 0;
  record.metrics = epoch.metrics;
  return status;
}

absl::StatusOr<MetricValues> Session::Evaluate(const Dataset& data,
                                               const EvaluateOptions& options) {
  DTNN_RETURN_IF_ERROR(CheckData(data));
  DTNN_RETURN_IF_ERROR(Preprocess(data, /*standardized=*/nullptr));
  DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<Loader> loader,
                        MakeLoader(data, options.split, AllIndices(data.size(options.split)),
                                   {.batch = options.batch, .shuffle = false}));
  DTNN_ASSIGN_OR_RETURN(const MetricAverages averages, trainer_->Evaluate(*loader, {}));
  return MetricValues(averages);
}

absl::Status Session::Save(std::string_view path) const {
  if (options_.communicator != nullptr && options_.communicator->rank() > 0) {
    return absl::OkStatus();
  }
  return SaveModel(path, model_, *store_, *context_);
}

}  // namespace dtnn
