#include "models/run/parts/model_file.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "comm/ranks/job/exit_code.h"
#include "data/preprocessing.h"
#include "models/parameters/weights.h"
#include "models/run/options/in_force.h"
#include "models/run/parts/make_trainer_options.h"
#include "models/run/parts/make_training.h"
#include "models/serving/saved_parameters.h"
#include "optim/losses/losses.h"
#include "optim/optimizers/optimizers.h"
#include "tensor/errors.h"
#include "tensor/files/array_file.h"
#include "tensor/format.h"
#include "tensor/text/version.h"

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
  return {.class_names = std::move(names),
          .loss = LossOf(options),
          .conv_variant = std::string(ConvVariantOf(options)),
          .fusions = MakeFusions(options),
          .training = {.dataset = std::string(dataset.name()), .optimizer = options.optimizer.name},
          .written_by = StrCat("DTNN ", Version())};
}

absl::StatusOr<SavedModel> ReadModelToRun(const std::string& path) {
  DTNN_ASSIGN_OR_RETURN(ArrayFileReader file, ArrayFileReader::Open(path));
  DTNN_ASSIGN_OR_RETURN(const bool holds_model, HoldsModel(file));
  if (holds_model) {
    DTNN_ASSIGN_OR_RETURN(SavedModel model, ReadModel(file));
    DTNN_RETURN_IF_ERROR(CheckHoldsParameters(file, model.graph));
    return model;
  }
  return UsageError(
      "RunOptions::network.name: missing, and ", path,
      " contains parameters only: name their network, such as RunOptions::network.name=simplecnn "
      "(ZooModels lists all)");
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
  SetConstants(constants, o);
  return options;
}

std::optional<ImageExtents> SampleOf(const std::optional<SavedModel>& model) {
  if (!model) return std::nullopt;
  return ExtentsToOpenWith(model->preprocessing,
                           ExtentsOf(model->graph.input_shape(), model->graph.format()));
}

absl::Status FollowModel(const SavedModel& model, RunOptions& options) {
  options.network.name = model.graph.name();
  if (!options.network.dtype) options.network.dtype = model.dtype;
  if (options.network.format.empty()) options.network.format = Name(model.graph.format());
  const std::string& loss = model.description.loss;
  if (options.training.loss.empty() && !loss.empty()) {
    if (!MakeLoss(loss).ok()) {
      return UsageError("RunOptions::training.loss: missing, and ", options.network.weights,
                        " was trained with ", Quoted(loss), ", which is not one of its losses");
    }
    options.training.loss = loss;
  }
  DataOptions& data = options.data;
  const std::optional<Geometry> geometry = GeometryToOpenWith(
      model.preprocessing, ExtentsOf(model.graph.input_shape(), model.graph.format()));
  if (data.center_square || data.center_crop || data.resize || !geometry) return absl::OkStatus();
  data.center_square = geometry->square;
  data.center_crop = geometry->crop < 1;
  if (geometry->crop < 1) data.center_crop_share = geometry->crop;
  data.resize = geometry->resize > 0;
  if (geometry->resize > 0) data.resize_side = geometry->resize;
  return absl::OkStatus();
}

absl::StatusOr<Graph> NetworkFor(const SavedModel& model, const RunOptions& options,
                                 const std::optional<DatasetSize>& data) {
  const ImageExtents sample = ExtentsOf(model.graph.input_shape(), model.graph.format());
  const int64_t outputs = OutputsOf(model.graph);
  if (data && (sample != data->sample || outputs != data->outputs)) {
    const std::string& name = options.data.name;  // empty: an object's
    return InvalidArgument(
        options.network.weights, ": its network takes samples of ", ToString(sample),
        " (height x width x channels) and ", "has ", outputs, " outputs, but ",
        name.empty() ? "the data set" : StrCat("data set ", name), " has ", ToString(data->sample),
        " and ", data->outputs,
        "; RunOptions::network.name=NAME trains a network that adapts to the data, and "
        "RunOptions::network.weights_partial skips the parameters that do not fit");
  }
  if (FormatOf(options) == model.graph.format()) return model.graph;
  return Graph::FromNodes(model.graph.name(), FormatOf(options), model.graph.ToNodes());
}

std::optional<Normalization> NormalizationFor(const SavedModel& model, const RunOptions& options,
                                              const Dataset& dataset) {
  if (options.data.normalize || options.data.standardize) return std::nullopt;
  const Preprocessing& trained = model.preprocessing;
  return dataset.preprocessing().normalization.any() ? trained.then : trained.normalization;
}

}  // namespace dtnn
