#include "models/parameters/in_format.h"

#include <optional>
#include <vector>

#include "models/parameters/weights_layout.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

// The image whose elements the features are that a node reads.
std::optional<ImageExtents> FeaturesOf(const Node& node, TensorFormat format,
                                       const std::vector<std::optional<ImageExtents>>& origins) {
  if (node.input_shapes[0].rank() == 3) return ExtentsOf(node.input_shapes[0], format);
  return origins[size_t(node.inputs[0])];
}

}  // namespace

bool OutputHasFormat(const Graph& graph) {
  const std::optional<ImageExtents> origin = FeatureOrigins(graph).back();
  return !origin || (origin->height * origin->width > 1 && origin->channels > 1);
}

absl::StatusOr<NetworkInFormat> InFormat(const Graph& graph, const ParameterStore& store,
                                         DeviceContext& host, TensorFormat format, DType dtype) {
  NetworkInFormat made;
  DTNN_ASSIGN_OR_RETURN(made.graph, Graph::FromNodes(graph.name(), format, graph.ToNodes()));
  DTNN_ASSIGN_OR_RETURN(made.store, ParameterStore::Create(made.graph, host, dtype, /*seed=*/0));
  const std::vector<std::optional<ImageExtents>> origins = FeatureOrigins(made.graph);
  const WeightsLayout layout = LayoutOf(graph.format());
  for (size_t n = 0; n < made.graph.nodes().size(); ++n) {
    const Node& node = made.graph.nodes()[n];
    for (size_t p = 0; p < node.parameters.size(); ++p) {
      const ParameterSpec& spec = node.parameters[p];
      std::optional<ImageExtents> features = ImageExtents{1, 1, 1};
      if (NeedsFeatureOrigin(spec, format, layout)) features = FeaturesOf(node, format, origins);
      if (!features) {
        return Unimplemented("layer ", node.id, " (", node.layer->type_name(), "): \"",
                             Graph::WeightKey(node, spec), "\" cannot be converted from ",
                             Name(graph.format()), " to ", Name(format),
                             ": the layer takes a vector in which features have several orders");
      }
      ConvertParameter(spec, store.Value(int(n), int(p)), layout, made.store->Value(int(n), int(p)),
                       format, *features);
    }
  }
  made.store->MarkChanged();
  return made;
}

}  // namespace dtnn
