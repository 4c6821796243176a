#include "apps/scale_model/steps.h"

#include <algorithm>
#include <utility>

#include "comm/ranks/gradients/cost_model_measure.h"
#include "models/run/parts/make_model.h"
#include "models/run/parts/make_training.h"
#include "models/run/samples/make_dataset.h"
#include "models/serving/saved_model.h"
#include "models/serving/saved_parameters.h"
#include "tensor/files/array_file.h"
#include "tensor/format.h"
#include "tensor/philox.h"
#include "tensor/status_macros.h"
#include "tensor/stopwatch.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

constexpr int64_t kWarmUp = 2;
constexpr double kHighestLoad = 0.95;

absl::StatusOr<SavedModel> ReadModelFile(const std::string& path) {
  DTNN_ASSIGN_OR_RETURN(ArrayFileReader file, ArrayFileReader::Open(path));
  DTNN_ASSIGN_OR_RETURN(SavedModel model, ReadModel(file));
  DTNN_RETURN_IF_ERROR(CheckHoldsParameters(file, model.graph));
  return model;
}

template <typename T>
void FillRandomly(T* values, int64_t count) {
  const Philox random(/*seed=*/0, StreamId(RandomPurpose::kSynthetic));
  for (int64_t i = 0; i < count; ++i) values[i] = T(random.Uniform(uint64_t(i)) - 0.5);
}

void FillRandomly(const Tensor& x) {
  if (x.dtype() == DType::kFloat32) FillRandomly(x.data<float>(), x.num_elements());
  if (x.dtype() == DType::kFloat64) FillRandomly(x.data<double>(), x.num_elements());
}

// The median of what the slowest rank took each time.
absl::StatusOr<double> MedianOfSlowest(Communicator* communicator, std::vector<double> times) {
  if (communicator != nullptr) DTNN_RETURN_IF_ERROR(TakeLargest(*communicator, times));
  return Median(std::move(times));
}

absl::Status Meet(Communicator* communicator) {
  return communicator == nullptr ? absl::OkStatus() : communicator->Barrier();
}

}  // namespace

absl::StatusOr<std::unique_ptr<ScaleModelSteps>> ScaleModelSteps::Create(
    const Options& given, const std::string& model_file) {
  std::unique_ptr<ScaleModelSteps> steps(new ScaleModelSteps);
  Options options = given;
  if (!model_file.empty()) {
    DTNN_ASSIGN_OR_RETURN(SavedModel model, ReadModelFile(model_file));
    if (!options.network.dtype) options.network.dtype = model.dtype;
    if (!model.description.loss.empty()) options.training.loss = model.description.loss;
    options.training.metrics = {};
    DTNN_ASSIGN_OR_RETURN(steps->graph_, FreezeLayers(options, std::move(model.graph)));
  }
  DTNN_ASSIGN_OR_RETURN(const MetricSet metric_set, MakeMetricSet(options));
  steps->loss_ = metric_set.loss;
  DTNN_ASSIGN_OR_RETURN(steps->optimizer_, MakeOptimizer(options));
  DTNN_ASSIGN_OR_RETURN(steps->batch_, BatchSizePerRank(options));
  if (model_file.empty()) {
    DTNN_ASSIGN_OR_RETURN(steps->graph_, MakeModel(options, KnownSize(options), *steps->loss_));
  }
  DTNN_ASSIGN_OR_RETURN(steps->context_, DeviceContext::Create(Device::Cpu()));
  const DType dtype = ElementTypeOf(options);
  DTNN_ASSIGN_OR_RETURN(steps->store_,
                        ParameterStore::Create(steps->graph_, *steps->context_, dtype,
                                               uint64_t(options.training.seed)));
  DTNN_RETURN_IF_ERROR(
      steps->store_->AllocateForTraining(*steps->context_, steps->optimizer_->slots()));
  DTNN_ASSIGN_OR_RETURN(steps->plan_,
                        Plan::Compile(steps->graph_, *steps->store_, *steps->context_,
                                      {.batch = steps->batch_,
                                       .training = true,
                                       .loss = steps->loss_.get(),
                                       .conv_variant = options.convolution.variant,
                                       .random_seed = uint64_t(options.training.seed)}));
  DTNN_ASSIGN_OR_RETURN(steps->x_,
                        Tensor::Zeros(dtype, steps->graph_.input_shape().Prepend(steps->batch_)));
  FillRandomly(steps->x_);
  const Shape& outputs = steps->graph_.output_shape();
  Shape targets = {steps->batch_};
  if (outputs.rank() == 3) {  // a class for each pixel
    const ImageExtents image = ExtentsOf(outputs, steps->graph_.format());
    targets = {steps->batch_, image.height, image.width};
  }
  DTNN_ASSIGN_OR_RETURN(steps->targets_, Tensor::Zeros(DType::kInt32, targets));
  return steps;
}

std::vector<std::string> ScaleModelSteps::EventLayers() const {
  std::vector<std::string> layers;
  for (size_t i = graph_.nodes().size(); i-- > 0;) {
    const Node& node = graph_.nodes()[i];
    if (node.frozen || std::ranges::none_of(node.parameters, &ParameterSpec::trainable)) continue;
    layers.push_back(StrCat("layer ", node.id, " (", node.layer->type_name(), ")"));
  }
  return layers;
}

absl::StatusOr<std::unique_ptr<Updater>> ScaleModelSteps::MakeUpdater(
    const UpdaterOptions& options) {
  return Updater::Create(*store_, *context_, *optimizer_, options);
}

absl::Status ScaleModelSteps::Step(Communicator* communicator, Updater& updater, Marks& marks) {
  DTNN_RETURN_IF_ERROR(Meet(communicator));
  marks.ready.clear();
  const Stopwatch watch;
  DTNN_RETURN_IF_ERROR(updater.Begin(store_->gradients()));
  DTNN_RETURN_IF_ERROR(
      plan_->ForwardBackward(x_, targets_, 1.0 / double(batch_), steps_done_++, [&](int64_t from) {
        marks.ready.push_back({from, watch.seconds()});
        updater.Ready(from);
      }));
  marks.backward = watch.seconds();
  // Parameters that stay where they are cannot diverge.
  DTNN_RETURN_IF_ERROR(updater.Finish({.learning_rate = 0, .step = steps_done_}));
  marks.end = watch.seconds();
  return absl::OkStatus();
}

class ScaleModelSteps::Record {
 public:
  void Add(const Marks& marks) {
    last_ = marks;
    ready_.resize(marks.ready.size());
    for (size_t e = 0; e < ready_.size(); ++e) ready_[e].push_back(marks.ready[e].seconds);
    backward_.push_back(marks.backward);
    update_.push_back(marks.end - marks.backward);
  }

  absl::StatusOr<StepProfile> Profile(const Tensor& gradients, Communicator* communicator) {
    StepProfile profile = {
        .ready = last_.ready, .dtype = gradients.dtype(), .elements = gradients.num_elements()};
    DTNN_ASSIGN_OR_RETURN(profile.backward_seconds,
                          MedianOfSlowest(communicator, std::move(backward_)));
    DTNN_ASSIGN_OR_RETURN(profile.update_seconds,
                          MedianOfSlowest(communicator, std::move(update_)));
    for (size_t e = 0; e < ready_.size(); ++e) {
      DTNN_ASSIGN_OR_RETURN(profile.ready[e].seconds,
                            MedianOfSlowest(communicator, std::move(ready_[e])));
    }
    return profile;
  }

 private:
  Marks last_;
  std::vector<std::vector<double>> ready_;  // per event
  std::vector<double> backward_, update_;
};

absl::StatusOr<double> ScaleModelSteps::Forward(Communicator* communicator, int64_t steps) {
  std::vector<double> times;
  for (int64_t i = 0; i < kWarmUp + steps; ++i) {
    DTNN_RETURN_IF_ERROR(Meet(communicator));
    const Stopwatch watch;
    DTNN_RETURN_IF_ERROR(plan_->Forward(x_));
    if (i >= kWarmUp) times.push_back(watch.seconds());
  }
  return MedianOfSlowest(communicator, std::move(times));
}

absl::StatusOr<StepProfile> ScaleModelSteps::Profile(Communicator* communicator, int64_t steps) {
  DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<Updater> alone, MakeUpdater({}));
  Marks marks;
  Record record;
  for (int64_t i = 0; i < kWarmUp + steps; ++i) {
    DTNN_RETURN_IF_ERROR(Step(communicator, *alone, marks));
    if (i >= kWarmUp) record.Add(marks);
  }
  return record.Profile(store_->gradients(), communicator);
}

absl::StatusOr<double> ScaleModelSteps::ExchangeLoad(Communicator& communicator, int64_t elements,
                                                     int64_t steps) {
  DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<Updater> updater, MakeUpdater({}));
  DTNN_ASSIGN_OR_RETURN(const Tensor sums, Tensor::Zeros(DType::kFloat32, Shape{elements}));
  Marks marks;
  std::vector<double> alone, beside;
  for (int64_t i = 0; i < kWarmUp + steps; ++i) {
    DTNN_RETURN_IF_ERROR(Step(&communicator, *updater, marks));
    if (i >= kWarmUp) alone.push_back(marks.end);
    DTNN_RETURN_IF_ERROR(Meet(&communicator));
    const std::unique_ptr<Work> work = communicator.AllReduceAsync(sums);
    DTNN_RETURN_IF_ERROR(Step(nullptr, *updater, marks));
    if (i >= kWarmUp) beside.push_back(marks.end);
    DTNN_RETURN_IF_ERROR(work->Wait());
  }
  DTNN_ASSIGN_OR_RETURN(const double without, MedianOfSlowest(&communicator, std::move(alone)));
  DTNN_ASSIGN_OR_RETURN(const double with, MedianOfSlowest(&communicator, std::move(beside)));
  DTNN_ASSIGN_OR_RETURN(const double exchange, MeasureAllReduce(communicator, elements));
  return std::clamp((with - without) / exchange, 0.0, kHighestLoad);
}

absl::StatusOr<ScaleModelSteps::Comparison> ScaleModelSteps::Compare(
    Communicator& communicator, const GradientReducerOptions& reducer, int64_t steps) {
  DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<Updater> alone, MakeUpdater({}));
  DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<Updater> together,
                        MakeUpdater({.communicator = &communicator, .reducer = reducer}));
  Marks marks;
  Record record;
  std::vector<double> seconds, exposed;
  for (int64_t i = 0; i < kWarmUp + steps; ++i) {
    DTNN_RETURN_IF_ERROR(Step(&communicator, *alone, marks));
    if (i >= kWarmUp) record.Add(marks);
    const double before = together->exchange_seconds();
    DTNN_RETURN_IF_ERROR(Step(&communicator, *together, marks));
    if (i < kWarmUp) continue;
    seconds.push_back(marks.end);
    exposed.push_back(together->exchange_seconds() - before);
  }
  Comparison result;
  DTNN_ASSIGN_OR_RETURN(result.alone, record.Profile(store_->gradients(), &communicator));
  DTNN_ASSIGN_OR_RETURN(result.exchanged.seconds,
                        MedianOfSlowest(&communicator, std::move(seconds)));
  DTNN_ASSIGN_OR_RETURN(result.exchanged.exposed_seconds,
                        MedianOfSlowest(&communicator, std::move(exposed)));
  return result;
}

}  // namespace dtnn
