#include "models/plan/int8_types.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "layers/int8/bind_int8.h"
#include "tensor/errors.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

class Chooser {
 public:
  Chooser(const Graph& graph, const std::vector<Fusion>& fusions, const Int8Choice& choice)
      : nodes_(graph.nodes()), choice_(choice), set_(nodes_.size()), addend_(nodes_.size(), -1) {
    std::iota(set_.begin(), set_.end(), 0);
    written_.assign(nodes_.size(), 1);
    written_[0] = choice.ranges.contains(nodes_[0].id);
    for (const Fusion& fusion : fusions) {
      addend_[size_t(fusion.layer)] = fusion.addend;
      int last = fusion.layer;
      for (const int node : {fusion.normalization, fusion.addition, fusion.relu}) {
        if (node < 0) continue;
        written_[size_t(last)] = 0;
        Join(fusion.layer, node);
        last = node;
      }
    }
    for (size_t i = 1; i < nodes_.size(); ++i) {
      if (Int8FormOf(*nodes_[i].layer) != Int8Form::kSelects) continue;
      written_[i] = 0;
      for (const int input : nodes_[i].inputs) Join(int(i), input);
    }
  }

  absl::StatusOr<Int8Types> Choose() {
    Int8Types types;
    types.values.resize(nodes_.size());
    types.products.assign(nodes_.size(), 0);
    DTNN_RETURN_IF_ERROR(CheckInFloat());
    std::vector<uint8_t> bytes(nodes_.size(), 0);  // per set
    for (size_t i = 1; i < nodes_.size(); ++i) {
      const Node& node = nodes_[i];
      if (Int8FormOf(*node.layer) != Int8Form::kProducts || choice_.in_float.contains(node.id)) {
        continue;
      }
      std::vector<int> reads = node.inputs;
      if (addend_[i] >= 0) reads.push_back(addend_[i]);
      if (std::ranges::any_of(reads, [&](int value) { return StaysFloat(value); })) continue;
      types.products[i] = 1;
      for (const int value : reads) bytes[size_t(Find(value))] = 1;
    }
    std::map<int, ValueRange> hulls;  // by set
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (!written_[i] || !bytes[size_t(Find(int(i)))]) continue;
      DTNN_ASSIGN_OR_RETURN(const ValueRange range, RangeOf(nodes_[i]));
      const auto [at, is_new] = hulls.emplace(Find(int(i)), range);
      at->second.low = std::min(at->second.low, range.low);
      at->second.high = std::max(at->second.high, range.high);
    }
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const auto hull = hulls.find(Find(int(i)));
      if (hull == hulls.end()) continue;
      types.values[i] = Quantization::OfRange(hull->second.low, hull->second.high);
    }
    return types;
  }

 private:
  int Find(int node) const {
    while (set_[size_t(node)] != node) node = set_[size_t(node)];
    return node;
  }
  void Join(int a, int b) {
    const auto [low, high] = std::minmax({Find(a), Find(b)});
    set_[size_t(high)] = low;
  }

  // What the network gives out, and its input where the samples have no range.
  bool StaysFloat(int value) const {
    const int set = Find(value);
    return set == Find(int(nodes_.size()) - 1) || (set == Find(0) && !written_[0]);
  }

  absl::Status CheckInFloat() const {
    for (const int id : choice_.in_float) {
      const auto found = std::ranges::find(nodes_, id, &Node::id);
      if (found == nodes_.end() || Int8FormOf(*found->layer) != Int8Form::kProducts) {
        return InvalidArgument("layer ", id, ", which is to stay in float32, is not a convolution ",
                               "or fully connected layer of this network");
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<ValueRange> RangeOf(const Node& node) const {
    const auto found = choice_.ranges.find(node.id);
    if (found == choice_.ranges.end()) {
      return InvalidArgument("layer ", node.id, " (", node.layer->type_name(),
                             "): has no range of values, which 8 bits need; quantize the model "
                             "again");
    }
    const ValueRange& range = found->second;
    if (std::isfinite(range.low) && std::isfinite(range.high) && range.low <= range.high) {
      return range;
    }
    return InvalidArgument("layer ", node.id, " (", node.layer->type_name(), "): the range ",
                           range.low, " to ", range.high, " of its values is invalid");
  }

  const std::vector<Node>& nodes_;
  const Int8Choice& choice_;
  std::vector<int> set_;          // the parent of each node in its set
  std::vector<int> addend_;       // of the op of each node
  std::vector<uint8_t> written_;  // whether a node's value is written, and not an element of others
};

}  // namespace

absl::StatusOr<Int8Types> ChooseInt8Types(const Graph& graph, const std::vector<Fusion>& fusions,
                                          const Int8Choice& choice) {
  return Chooser(graph, fusions, choice).Choose();
}

}  // namespace dtnn
