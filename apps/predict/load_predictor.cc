#include "apps/predict/load_predictor.h"

#include <optional>
#include <utility>

#include "absl/strings/str_join.h"
#include "apps/flags/options.h"
#include "apps/printing/name_lists.h"
#include "apps/program/image_flags.h"
#include "apps/program/image_paths.h"
#include "apps/program/other_file.h"
#include "comm/ranks/job/exit_code.h"
#include "data/check_offsets.h"
#include "data/normalize.h"
#include "data/preprocessing.h"
#include "models/parameters/weights.h"
#include "models/run/parts/make_training.h"
#include "models/run/samples/make_dataset.h"
#include "models/serving/saved_model.h"
#include "models/zoo/zoo.h"
#include "tensor/errors.h"
#include "tensor/files/array_file.h"
#include "tensor/text/counted.h"
#include "tensor/text/one_line.h"

namespace dtnn {
namespace {

// (x + offset) * scale, by --normalize or by --mean and --std.
absl::StatusOr<Normalization> MakeNormalization(const PredictOptions& options, int64_t channels) {
  if (options.normalize && !(options.mean.empty() && options.std.empty())) {
    return UsageError("--normalize and --mean or --std: cannot be used together; give one of them");
  }
  Normalization result;
  if (options.normalize) {
    result = {.offset = options.normalize_offset, .scale = options.normalize_scale};
  } else {
    DTNN_ASSIGN_OR_RETURN(result, NormalizationOf(options.mean, options.std));
  }
  const absl::Status status = CheckNormalization(result, channels);
  if (!status.ok()) {
    return UsageError("--mean, --std or --normalize: ", status.message());
  }
  // Whatever the file says, flags mean byte / 255.
  if (const auto offsets = CheckOffsets(result, Preprocessing()); !offsets.ok()) {
    return UsageError(options.normalize ? "--normalize-offset: " : "--mean: ", offsets.message());
  }
  return result;
}

class PredictorLoader {
 public:
  PredictorLoader(const PredictOptions& options, std::vector<std::string>& warnings)
      : options_(options),
        path_(options.model_file.empty() ? options.weights : options.model_file),
        warnings_(warnings) {}

  absl::StatusOr<std::unique_ptr<Predictor>> Load() {
    if (!options_.model_file.empty() && !options_.weights.empty()) {
      return UsageError(
          "--model-file and --weights-and-bias-filename: cannot be used together; give one of "
          "them");
    }
    const std::optional<WeightsFormat> format = ParseWeightsFormat(options_.weights_format);
    if (!format) {
      return UsageError("--weights-format=", options_.weights_format,
                        ": expected auto, NHWC or NCHW");
    }
    absl::StatusOr<ArrayFileReader> file = ArrayFileReader::Open(path_);
    if (!file.ok()) {
      return WithContext(
          NameOtherFile(file.status(), path_, "inspect",
                        "a trained model, weights or a checkpoint (.npz, .safetensors)"),
          FlagOfFile());
    }
    DTNN_ASSIGN_OR_RETURN(const bool holds_model, HoldsModel(*file));
    if (!holds_model) {
      DTNN_RETURN_IF_ERROR(WithContext(CheckNotImportable(path_, options_.model), FlagOfFile()));
    }
    DTNN_ASSIGN_OR_RETURN(SavedModel model, MakeModel(*file, holds_model));
    PredictorOptions predictor_options = {.batch = options_.batch, .weights_format = *format};
    SetMathMode(options_.math_mode, predictor_options);
    DTNN_ASSIGN_OR_RETURN(std::unique_ptr<Predictor> predictor,
                          Create(std::move(model), *file, holds_model, predictor_options));
    warnings_.insert(warnings_.end(), predictor->warnings().begin(), predictor->warnings().end());
    DTNN_RETURN_IF_ERROR(predictor->images().status());
    return predictor;
  }

 private:
  std::string_view FlagOfFile() const {
    return options_.model_file.empty() ? "--weights-and-bias-filename" : "--model-file";
  }

  // The file's model, which flags may repeat but not change; or the one that they name.
  absl::StatusOr<SavedModel> MakeModel(ArrayFileReader& file, bool holds_model) {
    SavedModel model;
    if (holds_model) {
      DTNN_ASSIGN_OR_RETURN(model, ReadModel(file));
      DTNN_RETURN_IF_ERROR(CheckFlags(model));
    } else {
      DTNN_RETURN_IF_ERROR(NameNetwork(file, model));
    }
    if (holds_model && !options_.class_names.empty()) {
      DTNN_RETURN_IF_ERROR(NameClasses(model));
    }
    DTNN_ASSIGN_OR_RETURN(model.preprocessing, MakePreprocessing(file, model.graph));
    return model;
  }

  // Flags that name another network than the file holds would give its parameters another meaning.
  absl::Status CheckFlags(const SavedModel& model) const {
    const auto differs = [&](std::string_view flag, std::string_view given, const auto&... what) {
      return UsageError("--", flag, "=", given, ": ", path_, what...,
                        "; leave the option out, the file says it");
    };
    const std::string& name = model.graph.name();
    if (!options_.model.empty() && options_.model != name) {
      return differs("model", options_.model, " holds network ", Quoted(name));
    }
    const std::string& loss = model.description.loss;
    if (!options_.loss_func.empty() && !loss.empty() && options_.loss_func != loss) {
      return differs("loss-func", options_.loss_func, " was trained with loss ", Quoted(loss));
    }
    const ImageExtents sample = ExtentsOf(model.graph.input_shape(), model.graph.format());
    const std::vector<int64_t>& shape = options_.input_shape;
    const std::vector<int64_t> own = {sample.channels, sample.height, sample.width};
    if (!shape.empty() && shape != own) {
      return differs("input-shape", absl::StrJoin(shape, ","), " takes images of ",
                     absl::StrJoin(own, ","));
    }
    if (options_.dataset.empty()) return absl::OkStatus();
    Options run;
    run.network.name = name;
    run.data.name = options_.dataset;
    const std::optional<DatasetSize> size = KnownSize(run);
    const int64_t outputs = OutputsOf(model.graph);
    if (!size || (size->sample == sample && size->outputs == outputs)) return absl::OkStatus();
    return differs("dataset", options_.dataset, " takes samples of ", ToString(sample), " and has ",
                   Counted(outputs, "output"), ", not ", ToString(size->sample), " and ",
                   size->outputs);
  }

  // For a file without names. One with names has them in the order of its outputs.
  absl::Status NameClasses(SavedModel& model) const {
    DTNN_ASSIGN_OR_RETURN(std::vector<std::string> names,
                          WithContext(ReadClassNames(options_.class_names), "--class-names"));
    const int64_t outputs = OutputsOf(model.graph);
    if (int64_t(names.size()) != outputs) {
      return UsageError("--class-names: ", options_.class_names, " names ",
                        Counted(int64_t(names.size()), "class", "classes"),
                        ", but the network has ", outputs);
    }
    std::vector<std::string>& known = model.description.class_names;
    if (!known.empty() && known != names) {
      return UsageError("--class-names: ", options_.class_names, " names ",
                        OneLine(absl::StrJoin(names, ", "), 500), ", but the classes of ", path_,
                        " are ", OneLine(absl::StrJoin(known, ", "), 500),
                        "; leave the option out, the file says it");
    }
    known = std::move(names);
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<Predictor>> Create(SavedModel model, ArrayFileReader& file,
                                                    bool holds_model,
                                                    const PredictorOptions& options) {
    if (holds_model) return Predictor::Create(std::move(model), file, options);
    const std::string name = model.graph.name();
    const int64_t outputs = OutputsOf(model.graph);
    auto predictor = Predictor::Create(std::move(model), file, options);
    const bool told = !options_.class_names.empty() || !options_.dataset.empty();
    if (!absl::IsInvalidArgument(predictor.status()) || told) return predictor;
    return InvalidArgument(path_, ": does not fit model ", name, " with ",
                           Counted(outputs, "class", "classes"),
                           "; a network that was trained on your own data needs --class-names (the "
                           "folder of the data set, or a file with one name per line), and "
                           "--input-shape if its samples were resized (",
                           predictor.status().message(), ")");
  }

  // What training did with its images, as the file says or, where flags are given, as they say.
  absl::StatusOr<Preprocessing> MakePreprocessing(ArrayFileReader& file, const Graph& graph) {
    const int64_t channels = ExtentsOf(graph.input_shape(), graph.format()).channels;
    DTNN_ASSIGN_OR_RETURN(const Normalization asked, MakeNormalization(options_, channels));
    DTNN_ASSIGN_OR_RETURN(const std::optional<std::string> told, file.Text(kPreprocessingTag));
    Preprocessing result = {.normalization = asked};
    if (told) {
      DTNN_ASSIGN_OR_RETURN(const Preprocessing trained,
                            WithContext(ParsePreprocessing(*told, channels), path_));
      result = trained;
      if (asked.any()) ApplyFlags(trained, asked, channels, result);
    } else if (!asked.any()) {
      warnings_.push_back(
          StrCat(path_,
                 ": does not say how training normalised its images; they are used as byte / "
                 "255. If training did something else, give --normalize, or --mean and --std"));
    }
    if (options_.crop > 0) {
      if (!result.geometry) result.geometry = ImageGeometry{};
      ReplaceCrop(/*square=*/false, options_.crop, *result.geometry);
    }
    return result;
  }

  // Where flags say how images are normalised, that is done, with a warning if training differed.
  void ApplyFlags(const Preprocessing& trained, const Normalization& asked, int64_t channels,
                  Preprocessing& result) {
    using Input = Preprocessing::Input;
    if (result.input == Input::kBgrBytes) result.input = Input::kBgr;  // flags mean byte / 255
    result.normalization = asked;
    result.then = {};
    if (SamePreprocessing(trained, result, channels)) return;
    warnings_.push_back(StrCat(path_, ": was trained on images preprocessed as ", Describe(trained),
                               "; --normalize, --mean and --std change this to ", Describe(result),
                               ", and that is done"));
  }

  // The network of the zoo that flags name, or the file.
  absl::Status NameNetwork(ArrayFileReader& file, SavedModel& model) const {
    std::string name = options_.model;
    if (name.empty()) {
      DTNN_ASSIGN_OR_RETURN(const std::optional<std::string> tag, file.Text("__model__"));
      if (!tag) {
        return UsageError(
            "--model: missing, and ", path_,
            " contains parameters only and does not name their network; name it (--model=list "
            "shows all), as it was called in training");
      }
      name = *tag;
    } else {
      DTNN_RETURN_IF_ERROR(CheckModelName(name));
    }
    Options run;
    if (!options_.loss_func.empty()) run.training.loss = options_.loss_func;
    run.training.metrics = {};
    DTNN_ASSIGN_OR_RETURN(const MetricSet metric_set, MakeMetricSet(run));
    ModelOptions made{.format = TensorFormat::kNHWC,
                      .final_activation = metric_set.loss->final_activation()};
    DTNN_RETURN_IF_ERROR(ChooseSamples(name, made));
    if (!options_.class_names.empty()) {
      DTNN_ASSIGN_OR_RETURN(model.description.class_names,
                            WithContext(ReadClassNames(options_.class_names), "--class-names"));
      made.classes = int64_t(model.description.class_names.size());
    }
    DTNN_ASSIGN_OR_RETURN(model.graph, BuildModel(name, made));
    return absl::OkStatus();
  }

  absl::Status ChooseSamples(const std::string& model, ModelOptions& made) const {
    if (!options_.dataset.empty()) {
      Options run;
      run.network.name = model;
      run.data.name = options_.dataset;
      const std::optional<DatasetSize> size = KnownSize(run);
      const bool told = !options_.input_shape.empty() && !options_.class_names.empty();
      if (!size && !told) {
        return UsageError(
            "--dataset=", options_.dataset,
            ": the size of its images is not known in advance; give --input-shape and "
            "--class-names");
      }
      if (size) {
        made.sample = size->sample;
        made.classes = size->outputs;
      }
    }
    if (options_.input_shape.empty()) return absl::OkStatus();
    const std::vector<int64_t>& shape = options_.input_shape;
    if (shape.size() != 3) {
      return UsageError("--input-shape=", absl::StrJoin(shape, ","),
                        ": must be three whole numbers: channels,height,width");
    }
    made.sample = ImageExtents{.height = shape[1], .width = shape[2], .channels = shape[0]};
    return absl::OkStatus();
  }

  const PredictOptions& options_;
  const std::string path_;
  std::vector<std::string>& warnings_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Predictor>> LoadPredictor(const PredictOptions& options,
                                                         std::vector<std::string>& warnings) {
  return PredictorLoader(options, warnings).Load();
}

}  // namespace dtnn
