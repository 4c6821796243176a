#include "models/onnx/import/network_maker.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "layers/base/attributes.h"
#include "models/onnx/file/tensor_values.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

constexpr size_t kMostOfAName = 200;

// What may stand in names of layers, and in names of arrays in files.
std::string Cleaned(std::string_view wanted) {
  std::string name;
  for (const char c : wanted.substr(0, kMostOfAName)) {
    const bool allowed = c > ' ' && c <= '~' && c != '/' && c != '\\' && c != '"';
    name += allowed ? c : '.';
  }
  name.erase(0, std::min(name.find_first_not_of("._"), name.size()));
  return name;
}

// Whether no element of what the layer makes is below 0, given whether that is so of all its
// inputs. False where that is not simple to know.
bool MakesNoneNegative(const Layer& layer, bool of_inputs) {
  constexpr std::string_view kAlways[] = {"Relu",    "Relu6",        "Sigmoid", "HardSigmoid",
                                          "Softmax", "GroupSoftmax", "Softplus"};
  // Elements, means, sums and products of those of the inputs.
  constexpr std::string_view kAsInputs[] = {
      "AdaptiveAveragePool2D",
      "AdditionBlock",
      "AveragePool2D",
      "ChannelShuffle",
      "ChannelSlice",
      "Dropout",
      "Flatten",
      "ConcatenationBlock",
      "MaxPool2D",
      "Pad2D",
      "PixelSlice",
      "Slice2D",
      "MultiplicationBlock",
      "Upsample2D",
      "Scale",
      "WeightedSumBlock",
  };
  const std::string_view type = layer.type_name();
  const Attributes attributes = layer.attributes();
  AttributeReader read(attributes);
  if (type == "Clip") return read.Real("low") >= 0;
  if (type == "Pad2D" && read.Real("value") < 0) return false;
  if (type == "Scale" && read.Real("factor") < 0) return false;
  if (std::ranges::find(kAlways, type) != std::end(kAlways)) return true;
  return of_inputs && std::ranges::find(kAsInputs, type) != std::end(kAsInputs);
}

}  // namespace

std::optional<int> NumberOf(const std::string& name) {
  int number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end == name.data() + name.size() || *end != '_') return std::nullopt;
  return number;
}

std::string NetworkMaker::NewName(std::string_view wanted, const Layer& layer) {
  std::string name = Cleaned(wanted);
  if (name.empty()) name = StrCat(nodes_.size(), "_", layer.type_name());
  const std::string first = name;
  for (int i = 2; !names_.insert(name).second; ++i) name = StrCat(first, ".", i);
  return name;
}

absl::Status NetworkMaker::Check(const Layer& layer, std::span<const Shape> inputs,
                                 const Parameters& parameters) const {
  const std::vector<ParameterSpec> specs = layer.Parameters(inputs, TensorFormat::kNCHW);
  if (specs.size() != parameters.size()) {
    return InvalidArgument("has ", parameters.size(), " parameters; a layer of type ",
                           layer.type_name(), " has ", specs.size());
  }
  for (size_t i = 0; i < specs.size(); ++i) {
    if (specs[i].shape.NumElements() == int64_t(parameters[i].size())) continue;
    return InvalidArgument("has ", parameters[i].size(), " elements in its ", specs[i].name,
                           "; inputs of shape ", inputs[0].ToString(), " need ",
                           specs[i].shape.ToString());
  }
  return absl::OkStatus();
}

absl::StatusOr<ImportedValue> NetworkMaker::Add(std::shared_ptr<const Layer> layer,
                                                std::span<const ImportedValue> inputs,
                                                Parameters parameters, std::string_view name) {
  NodeSpec spec = {.layer = layer, .name = NewName(name, *layer)};
  std::vector<Shape> shapes;
  for (const ImportedValue& input : inputs) {
    spec.inputs.push_back(nodes_[size_t(input.node)].name);
    shapes.push_back(input.shape);
  }
  DTNN_ASSIGN_OR_RETURN(const Shape output, layer->OutputShape(shapes, TensorFormat::kNCHW));
  DTNN_RETURN_IF_ERROR(CountElements(output.extents()).status());
  DTNN_RETURN_IF_ERROR(Check(*layer, shapes, parameters));
  for (const std::vector<float>& values : parameters) elements_ += int64_t(values.size());
  const bool of_inputs = std::ranges::all_of(
      inputs, [this](const ImportedValue& input) { return IsNeverNegative(input); });
  never_negative_.push_back(MakesNoneNegative(*layer, of_inputs));
  nodes_.push_back(std::move(spec));
  input_shapes_.push_back(shapes.empty() ? Shape() : shapes[0]);
  parameters_.push_back(std::move(parameters));
  return ImportedValue{.node = int(nodes_.size()) - 1, .shape = output};
}

absl::Status NetworkMaker::AddParameterToLatest(std::shared_ptr<const Layer> layer,
                                                std::vector<float> parameter) {
  Parameters& parameters = parameters_.back();
  elements_ += int64_t(parameter.size());
  parameters.push_back(std::move(parameter));
  nodes_.back().layer = std::move(layer);
  return Check(*nodes_.back().layer, std::span(&input_shapes_.back(), 1), parameters);
}

ImportedValue NetworkMaker::DropLatest() {
  const auto input = std::ranges::find(nodes_, nodes_.back().inputs[0], &NodeSpec::name);
  const ImportedValue value = {.node = int(input - nodes_.begin()), .shape = input_shapes_.back()};
  names_.erase(nodes_.back().name);
  for (const std::vector<float>& values : parameters_.back()) elements_ -= int64_t(values.size());
  nodes_.pop_back();
  input_shapes_.pop_back();
  never_negative_.pop_back();
  parameters_.pop_back();
  return value;
}

absl::StatusOr<NetworkInFormat> NetworkMaker::Finish(std::string name, DeviceContext& host) {
  std::set<int> ids;
  for (const NodeSpec& node : nodes_) {
    const int id = NumberOf(node.name).value_or(-1);
    if (id >= 0 && id < int(nodes_.size())) ids.insert(id);
  }
  if (ids.size() == nodes_.size()) {
    for (NodeSpec& node : nodes_) node.id = *NumberOf(node.name);
  }
  NetworkInFormat made;
  DTNN_ASSIGN_OR_RETURN(made.graph, Graph::FromNodes(std::move(name), TensorFormat::kNCHW, nodes_));
  DTNN_ASSIGN_OR_RETURN(made.store,
                        ParameterStore::Create(made.graph, host, DType::kFloat32, /*seed=*/0));
  for (size_t n = 0; n < parameters_.size(); ++n) {
    for (size_t p = 0; p < parameters_[n].size(); ++p) {
      std::vector<float>& values = parameters_[n][p];
      if (!std::ranges::all_of(values, [](float value) { return std::isfinite(value); })) {
        return DataLoss("layer ", Quoted(nodes_[n].name), ": its ",
                        made.graph.nodes()[n].parameters[p].name, " contain NaN or infinity");
      }
      const Tensor to = made.store->Value(int(n), int(p));
      if (to.num_elements() != int64_t(values.size())) {
        return absl::InternalError(StrCat("layer ", Quoted(nodes_[n].name), " has ", values.size(),
                                          " elements for ", to.num_elements()));
      }
      std::memcpy(to.raw_data(), values.data(), values.size() * sizeof(float));
      values = {};
    }
  }
  made.store->MarkChanged();
  return made;
}

}  // namespace dtnn
