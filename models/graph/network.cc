#include "models/graph/network.h"

#include <climits>
#include <optional>
#include <utility>
#include <vector>

#include "models/graph/proto_text.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

constexpr int64_t kVersion = 1;

void Add(const std::string& name, const Attribute& value, proto::Node& node) {
  proto::Attribute& attribute = *node.add_attribute();
  attribute.set_name(name);
  if (const auto* integer = std::get_if<int64_t>(&value)) {
    attribute.set_integer(*integer);
  } else if (const auto* real = std::get_if<double>(&value)) {
    attribute.set_real(*real);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    attribute.set_text(*text);
  } else {
    for (const int64_t element : std::get<std::vector<int64_t>>(value)) {
      attribute.add_integers(element);
    }
  }
}

absl::StatusOr<Attribute> ValueOf(const proto::Attribute& attribute) {
  const auto& integers = attribute.integers();
  const int values = int(attribute.has_integer()) + int(attribute.has_real()) +
                     int(attribute.has_text()) + int(!integers.empty());
  if (values != 1) {
    return InvalidArgument("attribute ", Quoted(attribute.name()), " has ", values,
                           " values; expected one: integer, real, text or integers");
  }
  if (attribute.has_integer()) return Attribute(int64_t{attribute.integer()});
  if (attribute.has_real()) return Attribute(attribute.real());
  if (attribute.has_text()) return Attribute(attribute.text());
  return Attribute(std::vector<int64_t>(integers.begin(), integers.end()));
}

absl::StatusOr<NodeSpec> SpecOf(const proto::Node& node, int place, const LayerTable& table) {
  Attributes attributes;
  for (const proto::Attribute& attribute : node.attribute()) {
    DTNN_ASSIGN_OR_RETURN(Attribute value, ValueOf(attribute));
    attributes.emplace_back(attribute.name(), std::move(value));
  }
  NodeSpec spec = {.inputs = {node.input().begin(), node.input().end()},
                   .name = node.name(),
                   .block = node.block()};
  DTNN_ASSIGN_OR_RETURN(spec.layer, MakeLayer(node.type(), attributes, table));
  const int64_t id = node.has_id() ? node.id() : place;
  if (id < 0 || id > INT_MAX) return InvalidArgument("its id is ", id);
  if (node.path() < 0 || node.path() > INT_MAX) {
    return InvalidArgument("its path is ", node.path());
  }
  spec.id = int(id);
  spec.path = int(node.path());
  return spec;
}

}  // namespace

proto::Network ToProto(const Graph& graph) {
  proto::Network network;
  network.set_version(kVersion);
  network.set_name(graph.name());
  network.set_format(std::string(Name(graph.format())));
  for (const NodeSpec& spec : graph.ToNodes()) {
    proto::Node& node = *network.add_node();
    node.set_name(spec.name);
    node.set_type(std::string(spec.layer->type_name()));
    for (const std::string& input : spec.inputs) node.add_input(input);
    for (const auto& [name, value] : spec.layer->attributes()) Add(name, value, node);
    node.set_id(spec.id);
    node.set_block(spec.block);
    node.set_path(spec.path);
  }
  return network;
}

absl::StatusOr<Graph> GraphFromProto(const proto::Network& network, const LayerTable& table) {
  const std::string name = StrCat("network ", Quoted(network.name()));
  if (network.version() != kVersion) {
    return InvalidArgument(name, ": has version ", network.version(),
                           "; this program reads version ", kVersion);
  }
  const std::optional<TensorFormat> format = ParseTensorFormat(network.format());
  if (!format.has_value()) {
    return InvalidArgument(name, ": its format is ", Quoted(network.format()),
                           "; expected NHWC or NCHW");
  }
  if (network.node_size() > Graph::kMostNodes) {
    return InvalidArgument(name, ": has ", network.node_size(), " nodes, more than ",
                           Graph::kMostNodes);
  }
  std::vector<NodeSpec> specs;
  for (const proto::Node& node : network.node()) {
    DTNN_ASSIGN_OR_RETURN(NodeSpec spec, WithContext(SpecOf(node, int(specs.size()), table), name,
                                                     ", node ", Quoted(node.name())));
    specs.push_back(std::move(spec));
  }
  return Graph::FromNodes(network.name(), *format, specs);
}

std::string NetworkText(const Graph& graph) { return ProtoText(ToProto(graph)); }

absl::StatusOr<Graph> ParseNetwork(std::string_view text, const LayerTable& table) {
  proto::Network network;
  DTNN_RETURN_IF_ERROR(ParseProtoText(text, network));
  return GraphFromProto(network, table);
}

}  // namespace dtnn
