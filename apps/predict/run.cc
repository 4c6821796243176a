#include "apps/predict/run.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "apps/flags/options.h"
#include "apps/make/make_dataset.h"
#include "apps/make/make_training.h"
#include "apps/printing/name_lists.h"
#include "apps/program/argument_flags.h"
#include "apps/program/image_paths.h"
#include "comm/job/exit_code.h"
#include "data/images/image_files.h"
#include "data/normalization/normalize.h"
#include "data/preprocessing.h"
#include "models/parameters/weights.h"
#include "models/serving/predictor.h"
#include "models/serving/saved_model.h"
#include "models/zoo/zoo.h"
#include "tensor/dtype.h"
#include "tensor/errors.h"
#include "tensor/files/array_file.h"
#include "tensor/text/counted.h"
#include "tensor/text/json_text.h"
#include "tensor/threads/parallel_for.h"

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
  } else if (!options.mean.empty() || !options.std.empty()) {
    result = {.offset = options.mean, .scale = options.std};
    if (result.offset.empty()) result.offset.assign(result.scale.size(), 0);
    if (result.scale.empty()) result.scale.assign(result.offset.size(), 1);
    for (double& offset : result.offset) offset = -offset;
    for (double& scale : result.scale) scale = 1 / scale;
  }
  const absl::Status status = CheckNormalization(result, channels);
  if (!status.ok()) {
    return UsageError("--mean, --std or --normalize: ", status.message());
  }
  return result;
}

struct Prediction {
  int64_t index = 0;
  std::string name;
  double probability = 0;
};

std::string CsvText(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

// Whether flags say of which network the parameters are, so that the file need not.
bool NamesNetwork(const PredictOptions& options) {
  return !options.model.empty() || !options.dataset.empty() || !options.input_shape.empty() ||
         !options.loss_func.empty();
}

class Answerer {
 public:
  Answerer(const PredictOptions& options, std::ostream& out, std::ostream& errors)
      : options_(options),
        path_(options.model_file.empty() ? options.weights : options.model_file),
        out_(out),
        errors_(errors) {}

  absl::Status Prepare() {
    if (path_.empty()) return UsageError("--model-file: missing; name the file of a trained model");
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
    DTNN_ASSIGN_OR_RETURN(ArrayFileReader file, ArrayFileReader::Open(path_));
    DTNN_ASSIGN_OR_RETURN(SavedModel model, MakeModel(file));
    predictor_ = Load(std::move(model), file, {.batch = options_.batch, .weights_format = *format});
    DTNN_RETURN_IF_ERROR(predictor_.status());
    for (const std::string& warning : (*predictor_)->warnings()) Warn(warning);
    return (*predictor_)->images().status();
  }

  // How many of the files could not be read, or have no finite answer.
  absl::StatusOr<int64_t> Answer(std::span<const std::string> files) {
    if (options_.format == "csv") out_ << "file,rank,class,probability\n";
    if (options_.format == "json") out_ << "[";
    int64_t broken = 0;
    for (size_t begin = 0; begin < files.size(); begin += size_t(options_.batch)) {
      const std::span batch =
          files.subspan(begin, std::min(size_t(options_.batch), files.size() - begin));
      DTNN_ASSIGN_OR_RETURN(const int64_t of_batch, AnswerBatch(batch, begin == 0));
      broken += of_batch;
    }
    if (options_.format == "json") out_ << "\n]\n";
    return broken;
  }

 private:
  void Warn(std::string_view line) {
    errors_ << "predict: warning: " << OneLine(NameFlags(line)) << "\n";
  }

  // The file's model, or the one that flags name; where both speak, flags count.
  absl::StatusOr<SavedModel> MakeModel(ArrayFileReader& file) {
    SavedModel model;
    DTNN_ASSIGN_OR_RETURN(const bool holds_model, HoldsModel(file));
    const bool from_file = holds_model && !NamesNetwork(options_);
    if (from_file) {
      DTNN_ASSIGN_OR_RETURN(model, ReadModel(file));
    } else {
      DTNN_RETURN_IF_ERROR(NameNetwork(file, model));
    }
    if (from_file && !options_.class_names.empty()) {
      DTNN_ASSIGN_OR_RETURN(model.description.class_names, ReadClassNames(options_.class_names));
      const int64_t names = int64_t(model.description.class_names.size());
      const int64_t outputs = model.graph.output_shape().NumElements();
      if (names != outputs) {
        return UsageError("--class-names: ", options_.class_names, " names ",
                          Counted(names, "class", "classes"), ", but the network has ", outputs);
      }
    }
    DTNN_ASSIGN_OR_RETURN(model.preprocessing, MakePreprocessing(file, model.graph));
    return model;
  }

  absl::StatusOr<std::unique_ptr<Predictor>> Load(SavedModel model, ArrayFileReader& file,
                                                  const PredictorOptions& options) {
    const std::string name = model.graph.name();
    const int64_t outputs = model.graph.output_shape().NumElements();
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
      if (asked.any()) WarnOfOthers(trained, asked, channels, result);
    } else if (!asked.any()) {
      Warn(StrCat(path_,
                  ": does not say how training normalised its images; they are used as byte / "
                  "255. If training did something else, give --normalize, or --mean and --std"));
    }
    if (options_.crop != 1) {
      if (!result.geometry) result.geometry = ImageGeometry{};
      result.geometry->geometry.crop = options_.crop;
    }
    return result;
  }

  // Flags say how images are normalised.
  void WarnOfOthers(const Preprocessing& trained, const Normalization& asked, int64_t channels,
                    Preprocessing& result) {
    using Input = Preprocessing::Input;
    if (result.input == Input::kBgrBytes) result.input = Input::kBgr;  // flags mean byte / 255
    result.normalization = asked;
    result.then = {};
    if (SamePreprocessing(trained, result, channels)) return;
    Warn(StrCat(path_, ": was trained on images preprocessed as ", Describe(trained),
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
            " contains parameters only and does not name their network; see --model=list");
      }
      name = *tag;
    } else {
      DTNN_RETURN_IF_ERROR(CheckModelName(name));
    }
    Options training;
    if (!options_.loss_func.empty()) training.loss_func = options_.loss_func;
    training.metrics.clear();
    DTNN_ASSIGN_OR_RETURN(const MetricSet metric_set, MakeMetricSet(training));
    ModelOptions made{.format = TensorFormat::kNHWC,
                      .final_activation = metric_set.loss->final_activation()};
    DTNN_RETURN_IF_ERROR(ChooseSamples(name, made));
    if (!options_.class_names.empty()) {
      DTNN_ASSIGN_OR_RETURN(model.description.class_names, ReadClassNames(options_.class_names));
      made.classes = int64_t(model.description.class_names.size());
    }
    DTNN_ASSIGN_OR_RETURN(model.graph, BuildModel(name, made));
    return absl::OkStatus();
  }

  absl::Status ChooseSamples(const std::string& model, ModelOptions& made) const {
    if (!options_.dataset.empty()) {
      Options data;
      data.model = model;
      data.dataset = options_.dataset;
      const std::optional<DatasetSize> size = KnownSize(data);
      if (!size) {
        return UsageError(
            "--dataset=", options_.dataset,
            ": the size of its images is not known in advance; give --input-shape and "
            "--class-names");
      }
      made.sample = size->sample;
      made.classes = size->outputs;
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

  absl::StatusOr<int64_t> AnswerBatch(std::span<const std::string> files, bool first) {
    const int64_t n = int64_t(files.size());
    Predictor& predictor = **predictor_;
    DTNN_ASSIGN_OR_RETURN(const ImageInput* const images, predictor.images());
    DTNN_ASSIGN_OR_RETURN(const Tensor x, predictor.NewSamples(n));
    std::vector<absl::Status> read(files.size());
    ParallelFor(0, n, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        read[size_t(i)] = images->Read(files[size_t(i)], x, i);
      }
    });
    DTNN_ASSIGN_OR_RETURN(const Tensor outputs, predictor.Predict(x));
    int64_t broken = 0;
    for (size_t i = 0; i < files.size(); ++i) {
      if (options_.format == "json") out_ << (first && i == 0 ? "\n" : ",\n");
      const std::vector<double> answer = RowOf(outputs, int64_t(i));
      if (read[i].ok()) read[i] = CheckFinite(files[i], answer);
      if (!read[i].ok()) {
        ++broken;
        ReportStatus(read[i], "predict", errors_);
        if (options_.format == "json") {
          out_ << "{\"file\": " << JsonText(files[i])
               << ", \"error\": " << JsonText(std::string(read[i].message())) << "}";
        }
        continue;
      }
      Print(files[i], Best(answer));
    }
    return broken;
  }

  static std::vector<double> RowOf(const Tensor& outputs, int64_t row) {
    std::vector<double> values;
    DispatchFloating(outputs.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const int64_t count = outputs.num_elements() / outputs.shape()[0];
      values.assign(outputs.data<T>() + row * count, outputs.data<T>() + (row + 1) * count);
    });
    return values;
  }

  static absl::Status CheckFinite(const std::string& path, std::span<const double> answer) {
    if (std::ranges::all_of(answer, [](double x) { return std::isfinite(x); })) {
      return absl::OkStatus();
    }
    return InvalidArgument(
        path,
        ": the network's output is NaN or infinite; are the weights, and --mean, "
        "--std or --normalize, those of its training?");
  }

  std::vector<Prediction> Best(std::span<const double> row) const {
    std::vector<size_t> order(row.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](size_t a, size_t b) { return row[a] > row[b]; });
    order.resize(std::min(order.size(), size_t(options_.top)));
    std::vector<Prediction> best;
    for (const size_t index : order) {
      best.push_back({int64_t(index), (*predictor_)->ClassName(int64_t(index)), row[index]});
    }
    return best;
  }

  void Print(const std::string& file, const std::vector<Prediction>& best) {
    std::vector<std::string> items;
    int rank = 0;
    for (const Prediction& prediction : best) {
      if (options_.format == "csv") {
        out_ << CsvText(file) << "," << ++rank << "," << CsvText(prediction.name) << ","
             << JsonNumber(prediction.probability) << "\n";
      } else if (options_.format == "json") {
        items.push_back(StrCat("{\"class\": ", JsonText(prediction.name),
                               ", \"index\": ", prediction.index,
                               ", \"probability\": ", JsonNumber(prediction.probability), "}"));
      } else {
        items.push_back(
            (*predictor_)->gives_probabilities()
                ? absl::StrFormat("%s %.2f %%", prediction.name, 100 * prediction.probability)
                : absl::StrFormat("%s %.6g", prediction.name, prediction.probability));
      }
    }
    if (options_.format == "text") {
      out_ << OneLine(file) << ": " << OneLine(absl::StrJoin(items, ", ")) << "\n";
    } else if (options_.format == "json") {
      out_ << "{\"file\": " << JsonText(file) << ", \"predictions\": ["
           << absl::StrJoin(items, ", ") << "]}";
    }
  }

  const PredictOptions& options_;
  const std::string path_;
  std::ostream &out_, &errors_;
  absl::StatusOr<std::unique_ptr<Predictor>> predictor_ = absl::FailedPreconditionError("");
};

}  // namespace

absl::Status Predict(const PredictOptions& options, std::span<const std::string> paths,
                     std::ostream& out, std::ostream& errors) {
  if (paths.empty()) return UsageError("no images given; name image files or folders (see --help)");
  Answerer answerer(options, out, errors);
  DTNN_RETURN_IF_ERROR(answerer.Prepare());
  SkippedFiles skipped;
  DTNN_ASSIGN_OR_RETURN(const std::vector<std::string> files, ExpandImagePaths(paths, skipped));
  if (skipped.count > 0) errors << "predict: warning: " << OneLine(skipped.Describe()) << "\n";
  if (files.empty()) return absl::NotFoundError("the folders contain no JPEG or PNG images");
  DTNN_ASSIGN_OR_RETURN(const int64_t broken, answerer.Answer(files));
  if (broken == 0) return absl::OkStatus();
  return DataLoss(broken, " of ", Counted(int64_t(files.size()), "file"),
                  " could not be classified");
}

}  // namespace dtnn
