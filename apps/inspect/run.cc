#include "apps/inspect/run.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "apps/program/other_file.h"
#include "comm/ranks/job/exit_code.h"
#include "models/checkpoint/checkpoint.h"
#include "models/graph/table.h"
#include "models/parameters/weights.h"
#include "models/quantization/quantization_record.h"
#include "models/serving/saved_model.h"
#include "tensor/errors.h"
#include "tensor/files/array_file.h"
#include "tensor/text/counted.h"
#include "tensor/text/json_text.h"

namespace dtnn {
namespace {

struct Array {
  std::string key, dtype = {}, shape = {};
  int64_t elements = 0, not_finite = 0;
  double least = NAN, most = NAN, mean = NAN;  // of the finite values
  absl::Status unread = {};                    // why none of these is known but the key
};

struct Contents {
  std::vector<std::pair<std::string, std::string>> tags;
  std::vector<Array> arrays;
  std::optional<CheckpointInfo> checkpoint;
  std::optional<SavedModel> model;
};

template <typename T>
void Measure(const Tensor& tensor, Array& array) {
  double sum = 0;
  int64_t finite = 0;
  for (int64_t i = 0; i < array.elements; ++i) {
    const double value = double(tensor.data<T>()[i]);
    if (!std::isfinite(value)) continue;
    array.least = finite == 0 ? value : std::min(array.least, value);
    array.most = finite == 0 ? value : std::max(array.most, value);
    sum += value;
    ++finite;
  }
  array.not_finite = array.elements - finite;
  if (finite > 0) array.mean = sum / double(finite);
}

Array Describe(const std::string& key, const Tensor& tensor) {
  Array array = {.key = key,
                 .dtype = std::string(Name(tensor.dtype())),
                 .shape = tensor.shape().ToString(),
                 .elements = tensor.num_elements()};
  switch (tensor.dtype()) {
    case DType::kUint8:
      Measure<uint8_t>(tensor, array);
      break;
    case DType::kInt32:
      Measure<int32_t>(tensor, array);
      break;
    case DType::kInt64:
      Measure<int64_t>(tensor, array);
      break;
    case DType::kFloat32:
      Measure<float>(tensor, array);
      break;
    case DType::kFloat64:
      Measure<double>(tensor, array);
      break;
    case DType::kFloat16:
      Measure<Float16>(tensor, array);
      break;
    case DType::kBfloat16:
      Measure<Bfloat16>(tensor, array);
      break;
  }
  return array;
}

// A file's network does not say which layers a run has frozen; its checkpoint does.
void MarkFrozen(const std::vector<int>& ids, Graph& graph) {
  std::vector<int> nodes;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    if (std::ranges::count(ids, graph.nodes()[i].id) > 0) nodes.push_back(int(i));
  }
  graph = graph.Frozen(nodes);
}

absl::StatusOr<Contents> Read(const std::string& path) {
  absl::StatusOr<ArrayFileReader> opened = ArrayFileReader::Open(path);
  if (!opened.ok()) {
    return NameOtherFile(opened.status(), path, "inspect",
                         "a model, weights or a checkpoint (.npz, .safetensors)");
  }
  ArrayFileReader& file = *opened;
  Contents contents;
  if (IsCheckpoint(file)) {
    DTNN_ASSIGN_OR_RETURN(contents.checkpoint, ReadCheckpointInfo(file));
  }
  DTNN_ASSIGN_OR_RETURN(const bool holds_model, HoldsModel(file));
  if (holds_model) {
    DTNN_ASSIGN_OR_RETURN(contents.model, ReadModel(file));
    if (contents.checkpoint) MarkFrozen(contents.checkpoint->frozen, contents.model->graph);
  }
  constexpr std::string_view kTags[] = {"__model__",       "__format__", "__dtype__",
                                        kPreprocessingTag, kNetworkTag,  kDescriptionTag,
                                        kQuantizationTag};
  for (const std::string_view tag : std::span(kTags).first(4)) {  // `model` tells the others
    DTNN_ASSIGN_OR_RETURN(const std::optional<std::string> text, file.Text(tag));
    if (text.has_value()) contents.tags.emplace_back(tag, *text);
  }
  for (const std::string& key : file.names()) {
    if (key == "__state__" || std::ranges::count(kTags, key) > 0) continue;
    const absl::StatusOr<Tensor> tensor = file.Read(key);
    contents.arrays.push_back(tensor.ok() ? Describe(key, *tensor)
                                          : Array{.key = key, .unread = tensor.status()});
  }
  return contents;
}

// The ranges for 8 bits, a line per layer.
std::string QuantizationText(const SavedModel& model) {
  const QuantizationRecord& record = *model.quantization;
  std::string text = StrCat("  int8: ranges of ", Counted(record.samples, "sample"), ", method ",
                            OneLine(record.method), "\n");
  for (const Node& node : model.graph.nodes()) {
    const auto range = record.ranges.find(node.id);
    const auto in_float = record.in_float.find(node.id);
    if (range != record.ranges.end()) {
      absl::StrAppendFormat(&text, "    %-28s %13.6g to %.6g\n", OneLine(node.name),
                            range->second.low, range->second.high);
    }
    if (in_float != record.in_float.end()) {
      StrAppend(&text, "    ", OneLine(node.name), " stays in float32: ", OneLine(in_float->second),
                "\n");
    }
  }
  return text;
}

std::string QuantizationJson(const QuantizationRecord& record) {
  std::vector<std::string> ranges, in_float;
  for (const auto& [id, range] : record.ranges) {
    ranges.push_back(
        StrCat("\"", id, "\": [", JsonNumber(range.low), ", ", JsonNumber(range.high), "]"));
  }
  for (const auto& [id, reason] : record.in_float) {
    in_float.push_back(StrCat("\"", id, "\": ", JsonText(reason)));
  }
  return StrCat("{\"method\": ", JsonText(record.method), ", \"samples\": ", record.samples,
                ", \"ranges\": {", absl::StrJoin(ranges, ", "), "}, \"in_float\": {",
                absl::StrJoin(in_float, ", "), "}}");
}

// What a model says of itself besides its parameters, for people.
std::string ModelText(const SavedModel& model) {
  const ModelDescription& description = model.description;
  std::string text = "  network:\n";
  const std::string table = FormatTable(model.graph, model.dtype, Device::Cpu());
  for (const absl::string_view line : absl::StrSplit(table, '\n', absl::SkipEmpty())) {
    StrAppend(&text, "  ", line, "\n");
  }
  StrAppend(&text, "  preprocessing: ", Describe(model.preprocessing), "\n");
  if (!description.class_names.empty()) {
    StrAppend(&text, "  classes: ", OneLine(absl::StrJoin(description.class_names, ", ")), "\n");
  }
  if (!description.written_by.empty()) {
    StrAppend(&text, "  written by: ", OneLine(description.written_by), "\n");
  }
  if (model.quantization) text += QuantizationText(model);
  const TrainingRecord& training = description.training;
  if (training == TrainingRecord()) return text + "  loss: " + OneLine(description.loss) + "\n";
  StrAppend(
      &text, "  training: ", Counted(training.epochs, "epoch"),
      training.run_epochs > training.epochs ? StrCat(" (the best of ", training.run_epochs, ")")
                                            : std::string(),
      " on ", OneLine(training.dataset), ", loss ", OneLine(description.loss), ", optimizer ",
      OneLine(training.optimizer), ", learning rate ", JsonNumber(training.learning_rate), "\n");
  for (const auto& [name, value] : training.metrics) {
    StrAppend(&text, "  ", OneLine(name), ": ", JsonNumber(value), "\n");
  }
  return text;
}

std::string ModelJson(const SavedModel& model) {
  const ModelDescription& description = model.description;
  std::vector<std::string> classes, metrics;
  for (const std::string& name : description.class_names) classes.push_back(JsonText(name));
  for (const auto& [name, value] : description.training.metrics) {
    metrics.push_back(StrCat(JsonText(name), ": ", JsonNumber(value)));
  }
  return StrCat(
      "{\"name\": ", JsonText(model.graph.name()),
      ", \"parameters\": ", model.graph.num_parameters(), ", \"classes\": [",
      absl::StrJoin(classes, ", "), "], \"written_by\": ", JsonText(description.written_by),
      ", \"loss\": ", JsonText(description.loss),
      ", \"training\": {\"dataset\": ", JsonText(description.training.dataset),
      ", \"epochs\": ", description.training.epochs,
      ", \"run_epochs\": ", std::max(description.training.epochs, description.training.run_epochs),
      ", \"optimizer\": ", JsonText(description.training.optimizer),
      ", \"learning_rate\": ", JsonNumber(description.training.learning_rate), ", \"metrics\": {",
      absl::StrJoin(metrics, ", "), "}}",
      model.quantization ? StrCat(", \"int8\": ", QuantizationJson(*model.quantization))
                         : std::string(),
      "}");
}

std::string Text(const Contents& contents) {
  std::string text;
  for (const auto& [tag, value] : contents.tags) {
    StrAppend(&text, "  ", tag, ": ", OneLine(value), "\n");
  }
  if (contents.model.has_value()) text += ModelText(*contents.model);
  if (contents.checkpoint.has_value()) {
    const TrainingState& run = contents.checkpoint->training;
    StrAppend(&text, "  checkpoint: epoch ", run.epoch + 1, ", ",
              Counted(run.step_in_epoch, "step"), " of it done, ",
              Counted(run.steps_done, "update"), " of all; optimizer ",
              OneLine(contents.checkpoint->optimizer), ", learning rate ",
              JsonNumber(run.learning_rate), ", seed ", run.random_seed, "\n");
    if (const std::vector<int>& frozen = contents.checkpoint->frozen; !frozen.empty()) {
      StrAppend(&text, "  frozen layers: ", absl::StrJoin(frozen, ", "), "\n");
    }
    for (const auto& [scheduler, state] : run.schedulers) {
      StrAppend(&text, "  scheduler ", OneLine(scheduler), ": ", absl::StrJoin(state, ", "), "\n");
    }
  }
  size_t width = 5;
  for (const Array& array : contents.arrays) width = std::max(width, OneLine(array.key).size());
  absl::StrAppendFormat(&text, "  %-*s  %-8s %-20s %13s %13s %13s %10s\n", int(width), "array",
                        "dtype", "shape", "min", "max", "mean", "not finite");
  for (const Array& array : contents.arrays) {
    if (!array.unread.ok()) {
      absl::StrAppendFormat(&text, "  %-*s  not read: %s\n", int(width), OneLine(array.key),
                            OneLine(std::string(array.unread.message())));
      continue;
    }
    absl::StrAppendFormat(&text, "  %-*s  %-8s %-20s %13.6g %13.6g %13.6g %10d\n", int(width),
                          OneLine(array.key), array.dtype, array.shape, array.least, array.most,
                          array.mean, array.not_finite);
  }
  return text;
}

std::string Json(const std::string& path, const Contents& contents) {
  std::vector<std::string> tags, arrays;
  for (const auto& [tag, value] : contents.tags) {
    tags.push_back(StrCat(JsonText(tag), ": ", JsonText(value)));
  }
  for (const Array& array : contents.arrays) {
    if (!array.unread.ok()) {
      arrays.push_back(StrCat("{\"key\": ", JsonText(array.key), ", \"not_read\": ",
                              JsonText(std::string(array.unread.message())), "}"));
      continue;
    }
    arrays.push_back(StrCat(
        "{\"key\": ", JsonText(array.key), ", \"dtype\": \"", array.dtype, "\", \"shape\": \"",
        array.shape, "\", \"elements\": ", array.elements, ", \"min\": ", JsonNumber(array.least),
        ", \"max\": ", JsonNumber(array.most), ", \"mean\": ", JsonNumber(array.mean),
        ", \"not_finite\": ", array.not_finite, "}"));
  }
  std::string json =
      StrCat("{\"file\": ", JsonText(path), ", \"tags\": {", absl::StrJoin(tags, ", "), "}");
  if (contents.checkpoint.has_value()) {
    const TrainingState& run = contents.checkpoint->training;
    std::vector<std::string> schedulers;
    for (const auto& [scheduler, state] : run.schedulers) {
      std::vector<std::string> numbers;
      for (const double number : state) numbers.push_back(JsonNumber(number));
      schedulers.push_back(StrCat(JsonText(scheduler), ": [", absl::StrJoin(numbers, ", "), "]"));
    }
    StrAppend(&json, ", \"checkpoint\": {\"epoch\": ", run.epoch,
              ", \"step_in_epoch\": ", run.step_in_epoch, ", \"steps_done\": ", run.steps_done,
              ", \"learning_rate\": ", JsonNumber(run.learning_rate),
              ", \"random_seed\": ", run.random_seed,
              ", \"optimizer\": ", JsonText(contents.checkpoint->optimizer), ", \"frozen\": [",
              absl::StrJoin(contents.checkpoint->frozen, ", "), "], \"schedulers\": {",
              absl::StrJoin(schedulers, ", "), "}}");
  }
  if (contents.model.has_value()) {
    StrAppend(&json, ", \"model\": ", ModelJson(*contents.model));
  }
  return StrCat(json, ", \"arrays\": [", absl::StrJoin(arrays, ", "), "]}\n");
}

}  // namespace

absl::Status InspectFiles(std::span<const std::string> files, const std::string& format,
                          std::ostream& out, std::ostream& errors) {
  if (format != "text" && format != "json") {
    return UsageError("--format=", format, ": expected text or json");
  }
  if (files.empty())
    return UsageError("no files given; name files of models, weights or checkpoints (see --help)");
  size_t broken = 0;
  for (const std::string& path : files) {
    const absl::StatusOr<Contents> contents = Read(path);
    if (!contents.ok()) {
      ++broken;
      ReportStatus(contents.status(), "inspect", errors);
      continue;
    }
    out << (format == "json" ? Json(path, *contents) : StrCat(path, "\n", Text(*contents)));
    // An array of a type that tensors do not have does not make the file invalid.
    const auto damaged = std::ranges::find_if(contents->arrays, [](const Array& array) {
      return !array.unread.ok() && !absl::IsUnimplemented(array.unread);
    });
    if (damaged == contents->arrays.end()) continue;
    ++broken;
    ReportStatus(damaged->unread, "inspect", errors);
  }
  if (broken == 0) return absl::OkStatus();
  if (files.size() == 1) return absl::DataLossError("");  // all is said
  return DataLoss(broken, " of ", Counted(int64_t(files.size()), "file"), " cannot be read");
}

}  // namespace dtnn
