#include "models/onnx/import/import.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "layers/activation.h"
#include "layers/softmax.h"
#include "models/onnx/import/graph.h"
#include "models/onnx/import/network_maker.h"
#include "models/onnx/import/operators.h"
#include "models/parameters/weights.h"
#include "models/plan/fusion.h"
#include "models/plan/int8_types.h"
#include "models/quantization/quantization_record.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

constexpr int64_t kOldestOpset = 7, kNewestOpset = 25;

absl::StatusOr<int64_t> OpsetOf(const onnx::ModelProto& model) {
  for (const onnx::OperatorSetIdProto& set : model.opset_import()) {
    if (!set.domain().empty() && set.domain() != "ai.onnx") continue;
    if (set.version() >= kOldestOpset && set.version() <= kNewestOpset) return set.version();
    return Unimplemented("has opset ", set.version(), "; opsets ", kOldestOpset, " to ",
                         kNewestOpset, " are read");
  }
  return InvalidArgument("does not say which opset its operators are of");
}

std::optional<std::string> Metadata(const onnx::ModelProto& model, std::string_view key) {
  for (const onnx::StringStringEntryProto& entry : model.metadata_props()) {
    if (entry.key() == key) return entry.value();
  }
  return std::nullopt;
}

// The texts of a model's file that an export has in the metadata.
absl::Status ReadMetadata(const onnx::ModelProto& onnx, SavedModel& model) {
  const auto at = [](std::string_view key, auto read) {
    return WithContext(std::move(read), "its metadata ", Quoted(key));
  };
  if (const auto text = Metadata(onnx, kPreprocessingTag)) {
    const int64_t channels = ExtentsOf(model.graph.input_shape(), model.graph.format()).channels;
    DTNN_ASSIGN_OR_RETURN(model.preprocessing,
                          at(kPreprocessingTag, ParsePreprocessing(*text, channels)));
  }
  if (const auto text = Metadata(onnx, kDescriptionTag)) {
    DTNN_ASSIGN_OR_RETURN(model.description,
                          at(kDescriptionTag, ParseDescription(*text, OutputsOf(model.graph))));
  }
  if (const auto text = Metadata(onnx, kQuantizationTag)) {
    DTNN_ASSIGN_OR_RETURN(model.quantization, at(kQuantizationTag, ParseQuantization(*text)));
  }
  return absl::OkStatus();
}

// Whether the ranges in the metadata, which name layers by number, are those of the model's layers:
// not where another program has changed the file since.
absl::Status CheckRanges(const SavedModel& model) {
  const QuantizationRecord& record = *model.quantization;
  std::set<int> ids;
  for (const Node& node : model.graph.nodes()) {
    ids.insert(node.id);
    const int number = NumberOf(node.name).value_or(node.id);
    if (number != node.id && node.name == StrCat(number, "_", node.layer->type_name())) {
      return InvalidArgument("layer ", node.id, " is called ", Quoted(node.name));
    }
  }
  for (const auto& [id, range] : record.ranges) {
    if (!ids.contains(id)) return InvalidArgument("there is no layer ", id);
  }
  const std::vector<Fusion> fusions =
      FindFusions(model.graph, model.description.fusions, /*additions=*/true);
  return ChooseInt8Types(model.graph, fusions, record.choice()).status();
}

// The ranges that the file has around its layers, for inference in 8 bits of NHWC images.
absl::Status AddRanges(const ImportState& state, SavedModel& model) {
  QuantizationRecord record = {.method = std::string(kRangesOfOnnx),
                               .input = model.graph.input_shape().ToString(),
                               .preprocessing = ToJson(model.preprocessing)};
  const std::vector<Node>& nodes = model.graph.nodes();
  for (const auto& [node, range] : state.ranges) record.ranges[nodes[size_t(node)].id] = range;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const std::string_view type = nodes[i].layer->type_name();
    if ((type == "Conv2D" || type == "FC") && !state.products_of_bytes.contains(int(i))) {
      record.in_float[nodes[i].id] = "the ONNX file has its weights in float32";
    }
  }
  const std::vector<Fusion> fusions =
      FindFusions(model.graph, model.description.fusions, /*additions=*/true);
  DTNN_RETURN_IF_ERROR(ChooseInt8Types(model.graph, fusions, record.choice()).status());
  model.quantization = std::move(record);
  return absl::OkStatus();
}

std::string NameOf(const onnx::ModelProto& model, std::string_view path) {
  std::string name = model.producer_name() == "DTNN" ? model.graph().name() : std::string();
  if (name.empty()) name = std::filesystem::path(path).stem().string();
  std::erase_if(name, [](char c) { return c <= ' ' || c > '~'; });
  return name.empty() ? "imported" : name.substr(0, 100);
}

absl::Status AddFinalActivation(FinalActivation wanted, NetworkMaker& network,
                                const ImportedValue& output) {
  const std::shared_ptr<const Layer> layer = MissingLayer(wanted, network.LayerOf(output));
  if (layer == nullptr) return absl::OkStatus();
  return WithContext(network.Add(layer, std::span(&output, 1), {}, "").status(), "the final ",
                     layer->type_name());
}

absl::StatusOr<ImportedModel> Import(const onnx::ModelProto& onnx, std::string_view path,
                                     DeviceContext& host, const ImportOptions& options) {
  if (onnx.functions_size() > 0) {
    return Unimplemented("defines functions of its own; export it with these inlined");
  }
  if (onnx.graph().sparse_initializer_size() > 0) {
    return Unimplemented("has sparse initializers; only dense tensors are read");
  }
  ImportState state = {.network = {}, .external = ExternalData(path)};
  DTNN_ASSIGN_OR_RETURN(state.opset, OpsetOf(onnx));
  state.of_our_own = Metadata(onnx, kDescriptionTag).has_value();
  DTNN_ASSIGN_OR_RETURN(const ImportedValue output,
                        ImportGraph(onnx.graph(), options.sample, options.output, state));
  DTNN_RETURN_IF_ERROR(AddFinalActivation(options.final_activation, state.network, output));
  DTNN_ASSIGN_OR_RETURN(NetworkInFormat made, state.network.Finish(NameOf(onnx, path), host));
  ImportedModel imported;
  if (options.format != TensorFormat::kNCHW) {
    absl::StatusOr<NetworkInFormat> converted =
        OutputHasFormat(made.graph) && made.graph.output_shape().rank() == 1
            ? Unimplemented("its outputs are elements of an image, in the order of NCHW")
            : InFormat(made.graph, *made.store, host, options.format, DType::kFloat32);
    if (converted.ok()) {
      made = *std::move(converted);
    } else {
      imported.notes.push_back(
          StrCat("The network stays one of NCHW images: ", converted.status().message()));
    }
  }
  imported.model.graph = std::move(made.graph);
  imported.store = std::move(made.store);
  imported.model.description.loss = LossOfNetwork(imported.model.graph);
  DTNN_RETURN_IF_ERROR(ReadMetadata(onnx, imported.model));
  if (state.normalization.any()) {
    imported.normalization = state.normalization;
    AddNormalization(state.normalization, imported.model.preprocessing);
    imported.notes.push_back(StrCat("The network begins with a normalisation of its input, of ",
                                    TextOf(state.normalization),
                                    ", which is a part of the preprocessing now: of images, and of "
                                    "the arrays of Python. Floats that are given to C, C++ or the "
                                    "server must have it."));
  }
  if (imported.model.quantization && state.foreign_ranges && !state.products_of_bytes.empty()) {
    imported.model.quantization.reset();
    imported.notes.push_back(
        "The ranges in the file's metadata are dropped: another program has put the network into 8 "
        "bits since, with ranges of its own.");
  }
  if (imported.model.quantization) {
    if (const absl::Status status = CheckRanges(imported.model); !status.ok()) {
      imported.model.quantization.reset();
      imported.notes.push_back(
          StrCat("The ranges in the file's metadata are dropped, since they are of other layers: ",
                 status.message(),
                 state.products_of_bytes.empty() ? "; the program quantize finds new ones" : ""));
    }
  }
  for (std::string& note : state.notes) imported.notes.push_back(std::move(note));
  if (!imported.model.quantization && !state.products_of_bytes.empty()) {
    const absl::Status ranges = imported.model.graph.format() == TensorFormat::kNHWC
                                    ? AddRanges(state, imported.model)
                                    : Unimplemented("8 bits are for networks of NHWC images");
    if (!ranges.ok()) {
      imported.notes.push_back(
          StrCat("The model computes in float32, although the file has layers "
                 "in 8 bits: ",
                 ranges.message()));
    }
  }
  return imported;
}

}  // namespace

std::shared_ptr<const Layer> MissingLayer(FinalActivation wanted, const Layer& last) {
  std::shared_ptr<const Layer> layer;
  if (wanted == FinalActivation::kSoftmax) layer = std::make_shared<SoftmaxLayer>();
  if (wanted == FinalActivation::kSigmoid) {
    layer = std::make_shared<ActivationLayer>(ActivationKind::kSigmoid);
  }
  return layer != nullptr && last.type_name() == layer->type_name() ? nullptr : layer;
}

std::string_view LossOfNetwork(const Graph& graph) {
  const std::string_view last = graph.nodes().back().layer->type_name();
  if (last == "Softmax") return "categorical_cross_entropy";
  return last == "Sigmoid" ? "binary_cross_entropy" : "";
}

absl::StatusOr<ImportedModel> ImportModel(const onnx::ModelProto& onnx, std::string_view path,
                                          DeviceContext& host, const ImportOptions& options) {
  return WithContext(Import(onnx, path, host, options), path);
}

}  // namespace dtnn
