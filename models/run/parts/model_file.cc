#include "models/run/parts/model_file.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "comm/ranks/job/exit_code.h"
#include "data/preprocessing.h"
#include "models/parameters/weights.h"
#include "models/run/parts/follow_loss.h"
#include "models/run/parts/make_trainer_options.h"
#include "optim/losses/losses.h"
#include "optim/optimizers/optimizers.h"
#include "tensor/errors.h"
#include "tensor/files/array_file.h"
#include "tensor/format.h"

namespace dtnn {

absl::Status CheckModelFile(const std::string& path) {
  if (path.empty()) return absl::OkStatus();
  const absl::Status named = CheckArrayFileName(path);
  if (!named.ok()) return UsageError("RunOptions::output.model=", named.message());
  return WithContext(CheckWeightsOutput(path), "RunOptions::output.model");
}

ModelDescription DescribeModel(const RunOptions& options, const Dataset& dataset) {
  std::vector<std::string> names = dataset.class_names();
  // Ranks with data of their own may have seen classes that this one has no names of.
  if (int64_t(names.size()) != dataset.outputs()) names.clear();
  return {
      .class_names = std::move(names),
      .loss = options.training.loss,
      .conv_variant = std::string(ConvVariantOf(options)),
      .fusions = MakeFusions(options),
      .training = {.dataset = std::string(dataset.name()), .optimizer = options.optimizer.name}};
}

absl::StatusOr<SavedModel> ReadModelToRun(const std::string& path) {
  DTNN_ASSIGN_OR_RETURN(ArrayFileReader file, ArrayFileReader::Open(path));
  DTNN_ASSIGN_OR_RETURN(const bool holds_model, HoldsModel(file));
  if (holds_model) return ReadModel(file);
  return UsageError(
      "RunOptions::network.name: missing, and ", path,
      " contains parameters only: name their network, such as RunOptions::network.name=simplecnn "
      "(RunOptions::network.name=list shows all)");
}

absl::StatusOr<RunOptions> OptionsOfModel(const std::string& path) {
  DTNN_ASSIGN_OR_RETURN(const SavedModel model, ReadModelToRun(path));
  const TrainingRecord& trained = model.description.training;
  RunOptions options = {.network = {.weights = path}};
  if (!model.description.loss.empty()) options.training.loss = model.description.loss;
  if (trained.optimizer.empty()) return options;
  DTNN_ASSIGN_OR_RETURN(const OptimizerConstants constants,
                        WithContext(ConstantsFrom(trained.constants), path));
  OptimizerOptions& o = options.optimizer;
  o.name = trained.optimizer;
  o.learning_rate = trained.learning_rate;
  const auto set = [](const auto& constant, auto& member) {
    if (constant) member = *constant;
  };
  set(constants.momentum, o.momentum);
  set(constants.decay, o.decay);
  set(constants.decay_vectors, o.decay_all);
  set(constants.nesterov, o.nesterov);
  set(constants.beta1, o.beta1);
  set(constants.beta2, o.beta2);
  set(constants.epsilon, o.epsilon);
  set(constants.rho, o.rho);
  set(constants.tau, o.tau);
  set(constants.tau_prime, o.tau_prime);
  set(constants.density, o.density);
  return options;
}

std::optional<ImageExtents> SampleOf(const std::optional<SavedModel>& model) {
  if (!model) return std::nullopt;
  return ExtentsOf(model->graph.input_shape(), model->graph.format());
}

absl::Status FollowModel(const SavedModel& model, RunOptions& options) {
  const auto given = [&](std::string_view name) { return options.given.contains(name); };
  options.network.name = model.graph.name();
  if (!given("dtype")) options.network.dtype = std::string(Name(model.dtype));
  if (!given("tensor-format")) options.network.format = std::string(Name(model.graph.format()));
  const std::string& loss = model.description.loss;
  const bool set = given("loss-func") || options.training.loss != kDefaultLoss;
  if (!set && !loss.empty()) {
    if (!MakeLoss(loss).ok()) {
      return UsageError("RunOptions::training.loss: missing, and ", options.network.weights,
                        " was trained with ", Quoted(loss), ", which is not one of its losses");
    }
    const std::string before = std::exchange(options.training.loss, loss);
    FollowLoss(options, before);
  }
  if (given("transform-crop") || given("transform-resize") || !model.preprocessing.geometry) {
    return absl::OkStatus();
  }
  const Geometry& geometry = model.preprocessing.geometry->geometry;
  const ImageExtents sample = ExtentsOf(model.graph.input_shape(), model.graph.format());
  // Images that are larger than the samples are of a data set that cuts its own.
  const bool own = geometry.resize > 0 && geometry.resize != std::max(sample.height, sample.width);
  if (own) return absl::OkStatus();
  options.data.center_crop = geometry.crop < 1;
  if (options.data.center_crop) options.data.center_crop_share = geometry.crop;
  options.data.resize = geometry.resize > 0;
  if (options.data.resize) options.data.resize_side = geometry.resize;
  return absl::OkStatus();
}

absl::StatusOr<Graph> NetworkFor(const SavedModel& model, const RunOptions& options,
                                 const std::optional<DatasetSize>& data) {
  const ImageExtents sample = ExtentsOf(model.graph.input_shape(), model.graph.format());
  const int64_t outputs = model.graph.output_shape().NumElements();
  if (data && (sample != data->sample || outputs != data->outputs)) {
    return InvalidArgument(
        options.network.weights, ": its network takes samples of ", ToString(sample),
        " (height x width x channels) and ", "has ", outputs, " outputs, but data set ",
        options.data.name, " has ", ToString(data->sample), " and ", data->outputs,
        "; RunOptions::network.name=NAME trains a network that adapts to the data, and "
        "RunOptions::network.weights_partial skips the parameters that do not fit");
  }
  if (FormatOf(options) == model.graph.format()) return model.graph;
  return Graph::FromNodes(model.graph.name(), FormatOf(options), model.graph.ToNodes());
}

std::optional<Normalization> NormalizationFor(const SavedModel& model, const RunOptions& options,
                                              const Dataset& dataset) {
  if (options.given.contains("normalize") || options.given.contains("standardize")) {
    return std::nullopt;
  }
  const Preprocessing& trained = model.preprocessing;
  return dataset.preprocessing().normalization.any() ? trained.then : trained.normalization;
}

}  // namespace dtnn
