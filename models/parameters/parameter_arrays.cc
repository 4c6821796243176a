#include "models/parameters/parameter_arrays.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "kernels/transfers/transfers.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

// "layer 7 (FC)".
std::string LayerOf(const Graph& graph, const ParameterArray& array) {
  const Node& node = graph.nodes()[array.node];
  return StrCat("layer ", node.id, " (", node.layer->type_name(), ")");
}

absl::Status CheckShape(const std::string& file, const Graph& graph, const ParameterArray& array,
                        WeightsLayout layout, std::string_view reason) {
  if (ShapeFits(array, graph, layout)) return absl::OkStatus();
  const std::string where = array.spec(graph).layout == ParameterLayout::kFilter
                                ? StrCat(" in a file of layout ", Name(layout), " (", reason, ")")
                                : "";
  return InvalidArgument(file, ": ", DescribeMisfit(array, graph, layout), where);
}

absl::StatusOr<ImageExtents> OriginFor(const std::string& file, const Graph& graph,
                                       const ParameterArray& array, WeightsLayout layout,
                                       const std::vector<std::optional<ImageExtents>>& origins) {
  if (!NeedsFeatureOrigin(array.spec(graph), graph.format(), layout)) return ImageExtents{};
  const Node& node = graph.nodes()[array.node];
  if (node.input_shapes[0].rank() == 3) return ExtentsOf(node.input_shapes[0], graph.format());
  const std::optional<ImageExtents>& origin = origins[size_t(node.inputs[0])];
  if (origin.has_value()) return *origin;
  return Unimplemented(file, ": \"", array.key, "\" cannot be converted from ", Name(layout),
                       " to the model's ", Name(graph.format()), ": ", LayerOf(graph, array),
                       " takes a vector in which features have several orders. Use the file's "
                       "format for the model");
}

}  // namespace

std::vector<ParameterArray> ParameterArrays(const Graph& graph, const ArenaKeys& keys) {
  std::vector<ParameterArray> arrays;
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    for (size_t p = 0; p < node.parameters.size(); ++p) {
      if (keys.trainable_only && !node.parameters[p].trainable) continue;
      const std::string key = keys.prefix + Graph::WeightKey(node, node.parameters[p]);
      arrays.push_back({.node = n, .parameter = p, .key = key});
    }
  }
  return arrays;
}

std::string ListKeys(const std::vector<std::string>& keys) {
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(keys.size(), 3); ++i) {
    StrAppend(&text, i == 0 ? "" : ", ", Quoted(keys[i]));
  }
  if (keys.size() > 3) StrAppend(&text, " and ", keys.size() - 3, " more");
  return text;
}

absl::StatusOr<NamedTensors> NameArena(const Graph& graph, const ParameterStore& store,
                                       DeviceContext& context, const Tensor& arena,
                                       const ArenaKeys& keys) {
  DTNN_RETURN_IF_ERROR(context.Synchronize());
  DTNN_ASSIGN_OR_RETURN(const Tensor host, ToHost(context, arena));
  NamedTensors tensors;
  for (const ParameterArray& array : ParameterArrays(graph, keys)) {
    tensors.emplace_back(array.key, store.Slice(host, int(array.node), int(array.parameter)));
  }
  return tensors;
}

absl::Status ReadShapes(ArrayFileReader& file, std::vector<ParameterArray>& arrays) {
  for (ParameterArray& array : arrays) {
    DTNN_ASSIGN_OR_RETURN(array.shape, file.ReadShape(array.key));
  }
  return absl::OkStatus();
}

bool ShapeFits(const ParameterArray& array, const Graph& graph, WeightsLayout layout) {
  const ParameterSpec& spec = array.spec(graph);
  return array.shape == ShapeInFile(spec, graph.format(), layout) ||
         (spec.shape.rank() == 1 && array.shape == Shape{1, spec.shape[0], 1, 1});
}

std::string DescribeMisfit(const ParameterArray& array, const Graph& graph, WeightsLayout layout) {
  return StrCat("\"", array.key, "\" of ", LayerOf(graph, array), " has shape ",
                array.shape.ToString(), ", but model ", graph.name(), " needs ",
                ShapeInFile(array.spec(graph), graph.format(), layout).ToString());
}

absl::Status PlaceArrays(const std::vector<ParameterArray>& arrays, ArrayFileReader& file,
                         const Graph& graph, const ParameterStore& store, WeightsLayout layout,
                         std::string_view reason, const Tensor& arena) {
  const std::vector<std::optional<ImageExtents>> origins = FeatureOrigins(graph);
  for (const ParameterArray& array : arrays) {
    DTNN_RETURN_IF_ERROR(CheckShape(file.file(), graph, array, layout, reason));
    DTNN_ASSIGN_OR_RETURN(const ImageExtents origin,
                          OriginFor(file.file(), graph, array, layout, origins));
    DTNN_ASSIGN_OR_RETURN(const Tensor values, file.Read(array.key));
    ConvertParameter(array.spec(graph), values, layout,
                     store.Slice(arena, int(array.node), int(array.parameter)), graph.format(),
                     origin);
  }
  return absl::OkStatus();
}

absl::Status CheckFinite(const std::vector<ParameterArray>& arrays, const std::string& file,
                         const Graph& graph, const ParameterStore& store, const Tensor& arena) {
  for (const ParameterArray& array : arrays) {
    const Tensor slice = store.Slice(arena, int(array.node), int(array.parameter));
    std::optional<double> found;
    DispatchFloating(slice.dtype(), [&](auto zero) {
      const std::span values(slice.data<decltype(zero)>(), size_t(slice.num_elements()));
      const auto at = std::ranges::find_if(values, [](auto x) { return !std::isfinite(x); });
      if (at != values.end()) found = double(*at);
    });
    if (!found.has_value()) continue;
    return DataLoss(file, ": \"", array.key, "\" of ", LayerOf(graph, array),
                    " contains the value ", *found, " (as ", Name(slice.dtype()),
                    "), expected finite numbers; was it saved after training had diverged?");
  }
  return absl::OkStatus();
}

absl::StatusOr<Tensor> ReadArena(ArrayFileReader& file, const Graph& graph,
                                 const ParameterStore& store, WeightsLayout layout,
                                 const ArenaKeys& keys) {
  const Shape shape = keys.trainable_only ? store.values().shape() : store.all_values().shape();
  DTNN_ASSIGN_OR_RETURN(Tensor arena, Tensor::Zeros(store.dtype(), shape));
  std::vector<ParameterArray> arrays = ParameterArrays(graph, keys);
  DTNN_RETURN_IF_ERROR(ReadShapes(file, arrays));
  DTNN_RETURN_IF_ERROR(PlaceArrays(arrays, file, graph, store, layout, "as its tag says", arena));
  return arena;
}

}  // namespace dtnn
