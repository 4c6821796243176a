// Graph from nodes, and back.

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "models/graph/graph.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

constexpr size_t kMostOfAName = 256;
constexpr int kMostDepth = 64;  // of blocks within each other

// Names stand in keys of files, where those that begin with two underscores mean something else.
absl::Status CheckName(const std::string& name) {
  const bool printable = std::ranges::all_of(name, [](char c) { return c > ' ' && c <= '~'; });
  if (printable && name.size() <= kMostOfAName && !name.starts_with("__")) return absl::OkStatus();
  return InvalidArgument("its name must have 1 to ", kMostOfAName,
                         " printable ASCII characters without blanks, and must not start with two "
                         "underscores");
}

class NodesReader {
 public:
  explicit NodesReader(std::span<const NodeSpec> specs) : specs_(specs) {}

  // The name that node `index` has.
  std::string NameOf(size_t index) const {
    const NodeSpec& spec = specs_[index];
    if (!spec.name.empty() || spec.layer == nullptr) return spec.name;
    return StrCat(IdOf(index), "_", spec.layer->type_name());
  }
  int IdOf(size_t index) const { return specs_[index].id < 0 ? int(index) : specs_[index].id; }

  // The inputs of node `index`, which it makes known.
  absl::StatusOr<std::vector<int>> Add(size_t index) {
    const NodeSpec& spec = specs_[index];
    if (spec.layer == nullptr) return InvalidArgument("it has no layer");
    DTNN_RETURN_IF_ERROR(CheckName(NameOf(index)));
    DTNN_RETURN_IF_ERROR(CheckId(index));
    if ((index == 0) != (spec.layer->type_name() == "Input")) {
      return InvalidArgument(index == 0 ? "a network starts with Input"
                                        : "Input must come first, and once");
    }
    if (index > 0 && spec.inputs.empty()) return InvalidArgument("it has no input");
    if (spec.inputs.size() > size_t(Graph::kMostInputs)) {
      return InvalidArgument("it has ", spec.inputs.size(), " inputs, more than ",
                             Graph::kMostInputs);
    }
    std::vector<int> inputs;
    for (const std::string& name : spec.inputs) {
      const auto found = index_.find(name);
      if (found == index_.end()) {
        return InvalidArgument("its input ", Quoted(name), " is not the name of an earlier node");
      }
      inputs.push_back(found->second);
      used_.insert(found->second);
    }
    if (!index_.emplace(NameOf(index), int(index)).second) {
      return InvalidArgument("another node has the same name");
    }
    return inputs;
  }

  bool used(size_t index) const { return used_.contains(int(index)); }

  // Rows of the table: those outside of blocks, with what is in them.
  absl::StatusOr<std::vector<LayoutItem>> Layout();
  // The node that Layout's message is about.
  size_t wrong_node() const { return wrong_node_; }

 private:
  absl::Status CheckId(size_t index) {
    const int id = IdOf(index);
    if (id >= int(specs_.size())) {
      return InvalidArgument("its id is ", id, "; those of ", specs_.size(), " nodes are 0 to ",
                             specs_.size() - 1);
    }
    if (!ids_.insert(id).second) return InvalidArgument("another node has its id, ", id);
    return absl::OkStatus();
  }

  // The index of the block of node `index`; nullopt without one.
  absl::StatusOr<std::optional<size_t>> BlockOf(size_t index) const {
    const NodeSpec& spec = specs_[index];
    if (spec.block.empty()) return std::nullopt;
    const auto found = index_.find(spec.block);
    if (found == index_.end() || IdOf(size_t(found->second)) >= IdOf(index)) {
      return InvalidArgument("its block ", Quoted(spec.block),
                             " is not the name of a node with a smaller id");
    }
    const size_t paths = specs_[size_t(found->second)].inputs.size();
    if (spec.path < 0 || size_t(spec.path) >= paths) {
      return InvalidArgument("its path is ", spec.path, ", but its block ", Quoted(spec.block),
                             " has ", paths);
    }
    return size_t(found->second);
  }

  LayoutItem ItemOf(size_t index) const {
    LayoutItem item = {.node = int(index), .paths = {}};
    if (specs_[index].inputs.size() > 1) item.paths.resize(specs_[index].inputs.size());
    const auto [begin, end] = children_.equal_range(index);
    for (auto child = begin; child != end; ++child) {
      item.paths.resize(specs_[index].inputs.size());
      item.paths[size_t(specs_[child->second].path)].push_back(ItemOf(child->second));
    }
    return item;
  }

  std::span<const NodeSpec> specs_;
  std::map<std::string, int, std::less<>> index_;
  std::set<int> ids_, used_;
  std::multimap<size_t, size_t> children_;  // of blocks, in the order of ids
  size_t wrong_node_ = 0;
};

absl::StatusOr<std::vector<LayoutItem>> NodesReader::Layout() {
  std::vector<size_t> by_id(specs_.size());
  for (size_t i = 0; i < specs_.size(); ++i) by_id[size_t(IdOf(i))] = i;
  std::vector<int> depth(specs_.size(), 0);
  std::vector<size_t> top;
  for (const size_t index : by_id) {
    wrong_node_ = index;
    DTNN_ASSIGN_OR_RETURN(const std::optional<size_t> block, BlockOf(index));
    if (!block.has_value()) {
      top.push_back(index);
      continue;
    }
    depth[index] = depth[*block] + 1;
    if (depth[index] > kMostDepth) {
      return InvalidArgument("it is nested in more than ", kMostDepth, " blocks");
    }
    children_.emplace(*block, index);
  }
  std::vector<LayoutItem> items;
  for (const size_t index : top) items.push_back(ItemOf(index));
  return items;
}

void NameBlocks(const std::vector<LayoutItem>& items, const Graph& graph, const std::string& block,
                int path, std::vector<NodeSpec>& specs) {
  for (const LayoutItem& item : items) {
    specs[size_t(item.node)].block = block;
    specs[size_t(item.node)].path = path;
    for (size_t i = 0; i < item.paths.size(); ++i) {
      NameBlocks(item.paths[i], graph, graph.nodes()[size_t(item.node)].name, int(i), specs);
    }
  }
}

}  // namespace

absl::StatusOr<Graph> Graph::FromNodes(std::string name, TensorFormat format,
                                       std::span<const NodeSpec> nodes) {
  const std::string network = StrCat("network ", Quoted(name));
  if (nodes.empty() || nodes.size() > size_t(kMostNodes)) {
    return InvalidArgument(network, ": has ", nodes.size(), " nodes, expected 1 to ", kMostNodes);
  }
  Graph graph;
  graph.name_ = std::move(name);
  graph.format_ = format;
  NodesReader reader(nodes);
  const auto of_node = [&](size_t index, const absl::Status& status) {
    return WithContext(status, network, ", node ", Quoted(reader.NameOf(index)));
  };
  for (size_t i = 0; i < nodes.size(); ++i) {
    absl::StatusOr<std::vector<int>> inputs = reader.Add(i);
    if (!inputs.ok()) return of_node(i, inputs.status());
    const absl::StatusOr<int> added =
        graph.AddNode(nodes[i].layer, reader.IdOf(i), nodes[i].name, *std::move(inputs));
    if (!added.ok()) return of_node(i, added.status());
  }
  for (size_t i = 0; i + 1 < nodes.size(); ++i) {
    if (!reader.used(i)) return of_node(i, InvalidArgument("its output is used by no other node"));
  }
  absl::StatusOr<std::vector<LayoutItem>> layout = reader.Layout();
  if (!layout.ok()) return of_node(reader.wrong_node(), layout.status());
  graph.layout_ = *std::move(layout);
  return graph;
}

std::vector<NodeSpec> Graph::ToNodes() const {
  std::vector<NodeSpec> specs;
  for (const Node& node : nodes_) {
    NodeSpec spec = {.layer = node.layer, .name = node.name, .id = node.id};
    for (const int input : node.inputs) spec.inputs.push_back(nodes_[size_t(input)].name);
    specs.push_back(std::move(spec));
  }
  NameBlocks(layout_, *this, /*block=*/"", /*path=*/0, specs);
  return specs;
}

}  // namespace dtnn
