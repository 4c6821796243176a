#include "apps/conversion/import_weights.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "apps/conversion/initial_seed.h"
#include "apps/program/other_file.h"
#include "comm/ranks/job/exit_code.h"
#include "models/graph/graph.h"
#include "models/parameters/in_format.h"
#include "models/serving/saved_parameters.h"
#include "models/torch/torch_file.h"
#include "models/torch/torch_weights.h"
#include "models/zoo/zoo.h"
#include "tensor/errors.h"
#include "tensor/files/array_file.h"
#include "tensor/format.h"
#include "tensor/text/counted.h"

namespace dtnn {
namespace {

// After the last layer of a model's file, unless that is it.
absl::StatusOr<Graph> WithFinalActivation(const Graph& graph, FinalActivation wanted) {
  const Node& last = graph.nodes().back();
  const std::shared_ptr<const Layer> layer = MissingLayer(wanted, *last.layer);
  if (layer == nullptr) return graph;
  std::vector<NodeSpec> nodes = graph.ToNodes();
  const int id = std::ranges::max(nodes, {}, &NodeSpec::id).id + 1;
  nodes.push_back({.layer = layer, .inputs = {last.name}, .id = id});
  return WithContext(Graph::FromNodes(graph.name(), graph.format(), nodes), "the final ",
                     layer->type_name());
}

// The network in NCHW, the order of PyTorch, with initial values; the rest as a model's file says.
absl::StatusOr<ImportedModel> MakeNetwork(const ImportFlags& flags, int64_t outputs,
                                          DeviceContext& host) {
  ImportedModel made;
  if (CheckArrayFileName(flags.model).ok()) {
    DTNN_ASSIGN_OR_RETURN(ArrayFileReader file, ArrayFileReader::Open(flags.model));
    DTNN_ASSIGN_OR_RETURN(made.model, ReadModel(file));
    DTNN_RETURN_IF_ERROR(CheckHoldsParameters(file, made.model.graph));
    if (made.model.quantization) {
      made.model.quantization.reset();
      made.notes.push_back(StrCat(flags.model,
                                  ": its ranges for inference in 8 bits are those of "
                                  "its own weights, and are not kept; quantize finds new ones"));
    }
    Graph& graph = made.model.graph;
    const ImageExtents sample = ExtentsOf(graph.input_shape(), graph.format());
    if (SampleOf(flags).value_or(sample) != sample) {
      return UsageError("--input-shape: ", flags.model, " has a network for samples of ",
                        ToString(sample), " (height, width, channels); leave it out");
    }
    const size_t layers = graph.nodes().size();
    DTNN_ASSIGN_OR_RETURN(graph, WithFinalActivation(graph, ActivationOf(flags.final_activation)));
    if (graph.nodes().size() > layers) made.model.description.loss.clear();  // the network says it
  } else {
    DTNN_RETURN_IF_ERROR(CheckNotImportable(flags.model, ""));
    const absl::StatusOr<Graph> own =
        BuildModel(flags.model, {.final_activation = FinalActivation::kOther});
    if (!own.ok()) return UsageError("--model=", flags.model, ": ", own.status().message());
    const bool sizes = outputs > 0 && !flags.weights_partial;
    auto adapted =
        BuildModel(flags.model, {.sample = SampleOf(flags),
                                 .classes = sizes ? std::optional<int64_t>(outputs) : std::nullopt,
                                 .final_activation = ActivationOf(flags.final_activation)});
    DTNN_ASSIGN_OR_RETURN(made.model.graph, std::move(adapted));
  }
  Graph& graph = made.model.graph;
  DTNN_ASSIGN_OR_RETURN(graph,
                        Graph::FromNodes(graph.name(), TensorFormat::kNCHW, graph.ToNodes()));
  DTNN_ASSIGN_OR_RETURN(made.store,
                        ParameterStore::Create(graph, host, DType::kFloat32, InitialSeed()));
  return made;
}

// Where weights do not fit `model`: the network of the zoo that torchvision calls so.
std::string OtherNetwork(const std::string& model) {
  const std::string other = StrCat("torchvision_", model);
  const bool known =
      std::ranges::any_of(ZooModels(), [&](const ModelInfo& info) { return info.name == other; });
  return known ? StrCat("; torchvision's ", model, " is --model=", other) : "";
}

// Where weights have batch normalisations, and the network of a model's file has none.
std::string ExportWithNormalizations(const NamedTensors& weights, const Graph& graph) {
  const bool have = std::ranges::any_of(
      weights, [](const auto& weight) { return weight.first.ends_with("running_mean"); });
  const bool has = std::ranges::any_of(graph.nodes(), [](const Node& node) {
    return node.layer->type_name() == "BatchNormalization";
  });
  if (!have || has) return "";
  return "; an export to ONNX multiplies batch normalisations into the layers before them. Export "
         "the network with dynamo=False, training=torch.onnx.TrainingMode.PRESERVE and "
         "do_constant_folding=False, and import that file for --model";
}

}  // namespace

bool IsWeights(std::string_view path) {
  return IsTorchFileName(path) || path.ends_with(".safetensors");
}

FinalActivation ActivationOf(const std::string& word) {
  if (word == "softmax") return FinalActivation::kSoftmax;
  return word == "sigmoid" ? FinalActivation::kSigmoid : FinalActivation::kOther;
}

std::optional<ImageExtents> SampleOf(const ImportFlags& flags) {
  if (flags.input_shape.empty()) return std::nullopt;
  return ImageExtents{.height = flags.input_shape[1],
                      .width = flags.input_shape[2],
                      .channels = flags.input_shape[0]};
}

absl::StatusOr<ImportedModel> ImportWeights(const ImportFlags& flags, DeviceContext& host) {
  if (CheckArrayFileName(flags.in).ok()) {
    absl::StatusOr<ArrayFileReader> file = ArrayFileReader::Open(flags.in);
    if (file.ok() && HoldsModel(*file).value_or(false)) {
      return InvalidArgument(flags.in,
                             ": is a model already, which predict, serve and benchmark take as it "
                             "is; expected weights of PyTorch");
    }
  }
  if (flags.model.empty()) {
    return UsageError("--model: missing; ", flags.in,
                      " has weights alone, so name their network (--model=list shows all) or the "
                      "file of a model that has it, such as one that was imported from ONNX");
  }
  DTNN_ASSIGN_OR_RETURN(const NamedTensors weights, ReadTorchFile(flags.in));
  const bool by_names = !IsTorchFileName(flags.in);
  DTNN_ASSIGN_OR_RETURN(ImportedModel made, MakeNetwork(flags, OutputsOf(weights, by_names), host));
  const absl::StatusOr<MatchedWeights> matched =
      FillFromTorch(weights, made.model.graph, *made.store,
                    {.partial = flags.weights_partial, .by_names = by_names});
  if (!matched.ok()) {
    const bool of_file = CheckArrayFileName(flags.model).ok();
    const absl::Status& status = matched.status();
    return absl::Status(status.code(),
                        StrCat(flags.in, ": ", status.message(), OtherNetwork(flags.model),
                               of_file ? ExportWithNormalizations(weights, made.model.graph) : ""));
  }
  made.notes.push_back(StrCat(flags.in, ": fills ", Counted(matched->layers, "layer"), " of ",
                              made.model.graph.name()));
  made.notes.insert(made.notes.end(), matched->differing.begin(), matched->differing.end());
  DTNN_ASSIGN_OR_RETURN(NetworkInFormat converted,
                        InFormat(made.model.graph, *made.store, host,
                                 *ParseTensorFormat(flags.format), DType::kFloat32));
  made.model.graph = std::move(converted.graph);
  made.store = std::move(converted.store);
  made.model.dtype = DType::kFloat32;
  std::string& loss = made.model.description.loss;
  if (loss.empty()) loss = LossOfNetwork(made.model.graph);
  return made;
}

}  // namespace dtnn
