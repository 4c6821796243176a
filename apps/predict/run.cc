#include "apps/predict/run.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "apps/flags/options.h"
#include "apps/make/make_dataset.h"
#include "apps/make/make_training.h"
#include "apps/printing/json_text.h"
#include "apps/printing/name_lists.h"
#include "apps/program/image_paths.h"
#include "comm/job/exit_code.h"
#include "data/files/read_bytes.h"
#include "data/images/image.h"
#include "data/images/image_files.h"
#include "data/images/resize.h"
#include "data/preprocessing.h"
#include "data/transforms/normalize.h"
#include "kernels/context.h"
#include "kernels/convert/convert.h"
#include "models/parameters/parameter_store.h"
#include "models/parameters/weights.h"
#include "models/plan/plan.h"
#include "models/zoo/zoo.h"
#include "tensor/counted.h"
#include "tensor/files/array_file.h"
#include "tensor/status_macros.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

constexpr TensorFormat kFormat = TensorFormat::kNHWC;

// (x + offset) * scale, by --normalize or by --mean and --std.
absl::StatusOr<Normalization> MakeNormalization(const PredictOptions& options, int64_t channels) {
  if (options.normalize && !(options.mean.empty() && options.std.empty())) {
    return UsageError("--normalize and --mean or --std: exclude each other");
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
    return UsageError(
        absl::StrCat("--mean, --std or --normalize: ", std::string(status.message())));
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

class Predictor {
 public:
  Predictor(const PredictOptions& options, std::ostream& out, std::ostream& errors)
      : options_(options), out_(out), errors_(errors) {}

  absl::Status Prepare() {
    if (options_.weights.empty()) {
      return UsageError("--weights-and-bias-filename: missing; which weights?");
    }
    DTNN_ASSIGN_OR_RETURN(context_, DeviceContext::Create(Device::Cpu()));
    DTNN_RETURN_IF_ERROR(MakeGraph());
    sample_ = ExtentsOf(graph_.input_shape(), kFormat);
    if (sample_.channels != 1 && sample_.channels != 3) {
      return absl::InvalidArgumentError(absl::StrCat("model ", graph_.name(), " takes samples of ",
                                                     Counted(sample_.channels, "channel"),
                                                     "; images have 1 or 3"));
    }
    DTNN_ASSIGN_OR_RETURN(store_,
                          ParameterStore::Create(graph_, *context_, DType::kFloat32, /*seed=*/0));
    const std::optional<WeightsFormat> format = ParseWeightsFormat(options_.weights_format);
    if (!format) {
      return UsageError(absl::StrCat("--weights-format=", options_.weights_format,
                                     ": expected auto, NHWC or NCHW"));
    }
    DTNN_ASSIGN_OR_RETURN(const LoadedWeights loaded, Load(*format));
    for (const std::string& warning : loaded.warnings) Warn(warning);
    DTNN_ASSIGN_OR_RETURN(preprocessing_, MakePreprocessing(loaded));
    DTNN_ASSIGN_OR_RETURN(plan_,
                          Plan::Compile(graph_, *store_, *context_, {.batch = options_.batch}));
    return absl::OkStatus();
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
  void Warn(std::string_view line) { errors_ << "predict: warning: " << OneLine(line) << "\n"; }

  absl::StatusOr<LoadedWeights> Load(WeightsFormat format) {
    absl::StatusOr<LoadedWeights> loaded =
        LoadWeights(options_.weights, graph_, *store_, *context_, {.format = format});
    const bool told = !options_.class_names.empty() || !options_.dataset.empty();
    if (!absl::IsInvalidArgument(loaded.status()) || told) return loaded;
    return absl::InvalidArgumentError(absl::StrCat(
        options_.weights, ": does not fit model ", graph_.name(), " with ",
        Counted(graph_.output_shape().NumElements(), "class", "classes"),
        "; a network that was trained on data of one's own needs --class-names (the data set's "
        "folder, or a file of a name per line), and --input-shape where its samples were resized (",
        std::string(loaded.status().message()), ")"));
  }

  // What training did with its images, as the file says or, where flags are given, as they say.
  absl::StatusOr<Preprocessing> MakePreprocessing(const LoadedWeights& loaded) {
    DTNN_ASSIGN_OR_RETURN(const Normalization asked, MakeNormalization(options_, sample_.channels));
    if (!loaded.preprocessing) {
      if (!asked.any()) {
        Warn(absl::StrCat(options_.weights,
                          ": does not say how training normalised its images, so they are taken as "
                          "byte / 255; where it did otherwise, give --normalize, or --mean and "
                          "--std"));
      }
      return Preprocessing{.normalization = asked};
    }
    absl::StatusOr<Preprocessing> trained =
        ParsePreprocessing(*loaded.preprocessing, sample_.channels);
    if (!trained.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(options_.weights, ": ", std::string(trained.status().message())));
    }
    if (trained->input == Preprocessing::Input::kValues) {
      Warn(
          absl::StrCat(options_.weights,
                       ": was trained on values that were not bytes of images; images are shown to "
                       "it as byte / 255"));
    }
    if (!asked.any()) return trained;
    const Preprocessing other = {.input = trained->input, .normalization = asked};
    if (!SamePreprocessing(*trained, other, sample_.channels)) {
      Warn(absl::StrCat(options_.weights, ": was trained on images as ", Describe(*trained),
                        "; --normalize, --mean and --std say ", Describe(other),
                        ", and that is done"));
    }
    return other;
  }

  absl::Status MakeGraph() {
    std::string model = options_.model;
    if (model.empty()) {
      DTNN_ASSIGN_OR_RETURN(ArrayFileReader file, ArrayFileReader::Open(options_.weights));
      DTNN_ASSIGN_OR_RETURN(const std::optional<std::string> tag, file.Text("__model__"));
      if (!tag) {
        return UsageError(absl::StrCat("--model: missing, and ", options_.weights,
                                       " does not say of which network it is"));
      }
      model = *tag;
    } else {
      DTNN_RETURN_IF_ERROR(CheckModelName(model));
    }
    Options training;
    training.loss_func = options_.loss_func;
    training.metrics.clear();
    DTNN_ASSIGN_OR_RETURN(const MetricSet metric_set, MakeMetricSet(training));
    ModelOptions made{.format = kFormat, .final_activation = metric_set.loss->final_activation()};
    probabilities_ = made.final_activation != FinalActivation::kOther;
    if (!options_.dataset.empty()) {
      Options data;
      data.model = model;
      data.dataset = options_.dataset;
      const std::optional<DatasetSize> size = KnownSize(data);
      if (!size) {
        return UsageError(
            absl::StrCat("--dataset=", options_.dataset,
                         ": is not a data set of known extents; give --input-shape and "
                         "--class-names"));
      }
      made.sample = size->sample;
      made.classes = size->outputs;
    }
    if (!options_.input_shape.empty()) {
      const std::vector<int64_t>& shape = options_.input_shape;
      if (shape.size() != 3) {
        return UsageError(absl::StrCat("--input-shape=", absl::StrJoin(shape, ","),
                                       ": must be three whole numbers: channels,height,width"));
      }
      made.sample = ImageExtents{.height = shape[1], .width = shape[2], .channels = shape[0]};
    }
    if (!options_.class_names.empty()) {
      DTNN_ASSIGN_OR_RETURN(class_names_, ReadClassNames(options_.class_names));
      made.classes = int64_t(class_names_.size());
    }
    DTNN_ASSIGN_OR_RETURN(graph_, BuildModel(model, made));
    return absl::OkStatus();
  }

  absl::Status ReadImage(const std::string& path, std::span<float> to) const {
    std::vector<uint8_t> bytes;
    DTNN_RETURN_IF_ERROR(ReadBytes(path, bytes));
    const int64_t side = std::max(sample_.height, sample_.width);
    DTNN_ASSIGN_OR_RETURN(
        const Image image,
        DecodeImage(bytes, path,
                    {.channels = int(sample_.channels),
                     .shortest_side = int64_t(std::ceil(2.0 * double(side) / options_.crop))}));
    std::vector<uint8_t> pixels(to.size());
    ResizeBilinear(image.pixels, image.extents, kFormat, CentralCrop(image.extents, options_.crop),
                   sample_.height, sample_.width, std::span<uint8_t>(pixels));
    if (preprocessing_.input == Preprocessing::Input::kBgr && sample_.channels == 3) {
      for (size_t at = 0; at < pixels.size(); at += 3) std::swap(pixels[at], pixels[at + 2]);
    }
    ConvertBytes(pixels, 1.0f / 255, to);
    if (preprocessing_.normalization.any()) {
      Normalize(preprocessing_.normalization, sample_, kFormat, to);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<int64_t> AnswerBatch(std::span<const std::string> files, bool first) {
    const int64_t n = int64_t(files.size());
    const size_t elements = size_t(graph_.input_shape().NumElements());
    DTNN_ASSIGN_OR_RETURN(const Tensor x,
                          Tensor::Zeros(DType::kFloat32, graph_.input_shape().Prepend(n)));
    std::vector<absl::Status> read(files.size());
    ParallelFor(0, n, 1, [&](int64_t begin, int64_t end) {
      for (size_t i = size_t(begin); i < size_t(end); ++i) {
        read[i] = ReadImage(files[i], {x.data<float>() + i * elements, elements});
      }
    });
    DTNN_RETURN_IF_ERROR(plan_->Forward(x));
    const int64_t outputs = graph_.output_shape().NumElements();
    int64_t broken = 0;
    for (size_t i = 0; i < files.size(); ++i) {
      if (options_.format == "json") out_ << (first && i == 0 ? "\n" : ",\n");
      const std::span answer(plan_->predictions().data<float>() + int64_t(i) * outputs,
                             size_t(outputs));
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

  static absl::Status CheckFinite(const std::string& path, std::span<const float> answer) {
    if (std::ranges::all_of(answer, [](float x) { return std::isfinite(x); })) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(
        absl::StrCat(path,
                     ": the network's answer is NaN or infinite; are the weights, and --mean, "
                     "--std or --normalize, those of its training?"));
  }

  std::vector<Prediction> Best(std::span<const float> row) const {
    std::vector<size_t> order(row.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](size_t a, size_t b) { return row[a] > row[b]; });
    order.resize(std::min(order.size(), size_t(options_.top)));
    std::vector<Prediction> best;
    for (const size_t index : order) {
      best.push_back({int64_t(index),
                      class_names_.empty() ? absl::StrCat(index) : class_names_[index],
                      double(row[index])});
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
        items.push_back(absl::StrCat(
            "{\"class\": ", JsonText(prediction.name), ", \"index\": ", prediction.index,
            ", \"probability\": ", JsonNumber(prediction.probability), "}"));
      } else {
        items.push_back(
            probabilities_
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
  std::ostream &out_, &errors_;
  std::unique_ptr<DeviceContext> context_;
  Graph graph_;
  ImageExtents sample_;
  Preprocessing preprocessing_;
  bool probabilities_ = true;  // else quantities
  std::vector<std::string> class_names_;
  std::unique_ptr<ParameterStore> store_;
  std::unique_ptr<Plan> plan_;
};

}  // namespace

absl::Status Predict(const PredictOptions& options, std::span<const std::string> paths,
                     std::ostream& out, std::ostream& errors) {
  if (paths.empty()) return UsageError("which image files or folders? (--help shows all)");
  Predictor predictor(options, out, errors);
  DTNN_RETURN_IF_ERROR(predictor.Prepare());
  SkippedFiles skipped;
  DTNN_ASSIGN_OR_RETURN(const std::vector<std::string> files, ExpandImagePaths(paths, skipped));
  if (skipped.count > 0) errors << "predict: warning: " << OneLine(skipped.Describe()) << "\n";
  if (files.empty()) return absl::NotFoundError("the folders hold no JPEG or PNG images");
  DTNN_ASSIGN_OR_RETURN(const int64_t broken, predictor.Answer(files));
  if (broken == 0) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(broken, " of ", Counted(int64_t(files.size()), "file"), " cannot be answered"));
}

}  // namespace dtnn
