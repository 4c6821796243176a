#include "models/serving/saved_model.h"

#include <algorithm>
#include <optional>

#include "models/graph/network.h"
#include "models/graph/proto_text.h"
#include "models/parameters/weights.h"
#include "models/serving/saved_model.pb.h"
#include "tensor/errors.h"
#include "tensor/files/npy_header.h"

namespace dtnn {
namespace {

constexpr int64_t kVersion = 1;

constexpr std::pair<std::string_view, bool Fusions::*> kFusions[] = {
    {"conv_bn", &Fusions::conv_bn},
    {"conv_bn_relu", &Fusions::conv_bn_relu},
    {"conv_relu", &Fusions::conv_relu},
    {"bn_relu", &Fusions::bn_relu},
};

proto::ModelDescription ToProto(const ModelDescription& description) {
  proto::ModelDescription message;
  message.set_version(kVersion);
  for (const std::string& name : description.class_names) message.add_class_name(name);
  message.set_loss(description.loss);
  message.set_conv_variant(description.conv_variant);
  for (const auto& [name, fusion] : kFusions) {
    if (description.fusions.*fusion) message.add_fusion(std::string(name));
  }
  message.set_written_by(description.written_by);
  const TrainingRecord& record = description.training;
  proto::TrainingRecord& training = *message.mutable_training();
  training.set_dataset(record.dataset);
  training.set_epochs(record.epochs);
  training.set_run_epochs(record.run_epochs);
  training.set_optimizer(record.optimizer);
  training.set_learning_rate(record.learning_rate);
  for (const auto& [name, value] : record.constants) {
    (*training.mutable_optimizer_constant())[name] = value;
  }
  for (const auto& [name, value] : record.metrics) {
    proto::Metric& metric = *training.add_metric();
    metric.set_name(name);
    metric.set_value(value);
  }
  for (const auto& [name, value] : record.identity) {
    proto::Setting& setting = *training.add_setting();
    setting.set_name(name);
    setting.set_value(value);
  }
  return message;
}

absl::StatusOr<ModelDescription> FromProto(const proto::ModelDescription& message) {
  if (message.version() != kVersion) {
    return InvalidArgument("has version ", message.version(), "; this program reads version ",
                           kVersion);
  }
  ModelDescription description;
  description.class_names = {message.class_name().begin(), message.class_name().end()};
  description.loss = message.loss();
  description.conv_variant = message.conv_variant();
  description.fusions = Fusions::None();
  for (const std::string& name : message.fusion()) {
    const auto* found =
        std::ranges::find(kFusions, name, [](const auto& row) { return row.first; });
    if (found == std::end(kFusions)) {
      return InvalidArgument("names the unknown fusion ", Quoted(name));
    }
    description.fusions.*found->second = true;
  }
  description.written_by = message.written_by();
  TrainingRecord& record = description.training;
  record.dataset = message.training().dataset();
  record.epochs = message.training().epochs();
  record.run_epochs = message.training().run_epochs();
  record.optimizer = message.training().optimizer();
  record.constants = {message.training().optimizer_constant().begin(),
                      message.training().optimizer_constant().end()};
  record.learning_rate = message.training().learning_rate();
  for (const proto::Metric& metric : message.training().metric()) {
    record.metrics.emplace_back(metric.name(), metric.value());
  }
  for (const proto::Setting& setting : message.training().setting()) {
    record.identity.emplace_back(setting.name(), setting.value());
  }
  return description;
}

// `read`, a status or a value of the text `tag` of the file, with that as its context.
template <typename Read>
Read InText(const ArrayFileReader& file, std::string_view tag, Read read) {
  return WithContext(std::move(read), file.file(), ", text \"", tag, "\"");
}

absl::StatusOr<std::string> TextOf(ArrayFileReader& file, std::string_view tag) {
  DTNN_ASSIGN_OR_RETURN(std::optional<std::string> text, file.Text(tag));
  if (text.has_value()) return *std::move(text);
  return FailedPrecondition(file.file(), ": has no text \"", tag,
                            "\": it contains parameters only, not their network; the "
                            "program benchmark writes both when it tests the parameters and saves "
                            "a model");
}

absl::StatusOr<ModelDescription> Parse(const std::string& text) {
  proto::ModelDescription message;
  DTNN_RETURN_IF_ERROR(ParseProtoText(text, message));
  return FromProto(message);
}

absl::StatusOr<ModelDescription> ReadDescription(ArrayFileReader& file, int64_t outputs) {
  DTNN_ASSIGN_OR_RETURN(const std::string text, TextOf(file, kDescriptionTag));
  return ParseDescription(text, outputs);
}

}  // namespace

absl::StatusOr<ModelDescription> ParseDescription(const std::string& text, int64_t outputs) {
  DTNN_ASSIGN_OR_RETURN(ModelDescription description, Parse(text));
  const size_t names = description.class_names.size();
  if (names > 0 && int64_t(names) != outputs) {
    return InvalidArgument("names ", names, " classes, but the network has ", outputs, " outputs");
  }
  return description;
}

NamedTexts ModelTags(const SavedModel& model) {
  NamedTexts tags = {{std::string(kPreprocessingTag), ToJson(model.preprocessing)},
                     {std::string(kNetworkTag), NetworkText(model.graph)},
                     {std::string(kDescriptionTag), ProtoText(ToProto(model.description))}};
  if (model.quantization) {
    tags.emplace_back(std::string(kQuantizationTag), ToText(*model.quantization));
  }
  return tags;
}

// A character has at least one byte.
static_assert(kMostProtoText <= NpyHeader::kMostCharacters);

absl::Status CheckModelTags(const NamedTexts& tags) {
  for (const auto& [tag, text] : tags) {
    if (text.size() <= kMostProtoText) continue;
    return InvalidArgument("the model's text \"", tag, "\" has ", text.size(), " bytes; at most ",
                           kMostProtoText, " can be read again; use shorter names of classes");
  }
  return absl::OkStatus();
}

absl::Status SaveModel(std::string_view path, const SavedModel& model, const ParameterStore& store,
                       DeviceContext& context, const Tensor& values) {
  const NamedTexts tags = ModelTags(model);
  DTNN_RETURN_IF_ERROR(WithContext(CheckModelTags(tags), path));
  return SaveWeights(path, model.graph, store, context, values, tags);
}

absl::StatusOr<bool> HoldsModel(ArrayFileReader& file) {
  DTNN_ASSIGN_OR_RETURN(const std::optional<std::string> network, file.Text(kNetworkTag));
  return network.has_value();
}

absl::StatusOr<std::optional<ModelDescription>> FindDescription(ArrayFileReader& file) {
  DTNN_ASSIGN_OR_RETURN(const std::optional<std::string> text, file.Text(kDescriptionTag));
  if (!text) return std::nullopt;
  return InText(file, kDescriptionTag, Parse(*text));
}

absl::StatusOr<SavedModel> ReadModel(ArrayFileReader& file, const LayerTable& table) {
  SavedModel model;
  DTNN_ASSIGN_OR_RETURN(const bool holds_model, HoldsModel(file));
  if (!holds_model && HasTorchNames(file)) {
    return FailedPrecondition(file.file(), ": has ", kTorchNamesAdvice);
  }
  DTNN_ASSIGN_OR_RETURN(const std::string network, TextOf(file, kNetworkTag));
  DTNN_ASSIGN_OR_RETURN(model.graph, InText(file, kNetworkTag, ParseNetwork(network, table)));

  DTNN_ASSIGN_OR_RETURN(const std::optional<std::string> dtype, file.Text("__dtype__"));
  if (dtype == Name(DType::kFloat64)) {
    model.dtype = DType::kFloat64;
  } else if (dtype.has_value() && dtype != Name(DType::kFloat32)) {
    return InText(file, "__dtype__", absl::InvalidArgumentError("is neither float32 nor float64"));
  }

  DTNN_ASSIGN_OR_RETURN(const std::optional<std::string> shown, file.Text(kPreprocessingTag));
  if (shown.has_value()) {
    const ImageExtents sample = ExtentsOf(model.graph.input_shape(), model.graph.format());
    DTNN_ASSIGN_OR_RETURN(model.preprocessing, InText(file, kPreprocessingTag,
                                                      ParsePreprocessing(*shown, sample.channels)));
  }

  const int64_t outputs = OutputsOf(model.graph);
  DTNN_ASSIGN_OR_RETURN(model.description,
                        InText(file, kDescriptionTag, ReadDescription(file, outputs)));
  DTNN_ASSIGN_OR_RETURN(const std::optional<std::string> quantization, file.Text(kQuantizationTag));
  if (quantization) {
    DTNN_ASSIGN_OR_RETURN(model.quantization,
                          InText(file, kQuantizationTag, ParseQuantization(*quantization)));
  }
  return model;
}

}  // namespace dtnn
