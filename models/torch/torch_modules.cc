#include "models/torch/torch_modules.h"

#include <algorithm>
#include <compare>
#include <cstdint>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

// Names of torchvision's modules, in the order in which its networks run them: those before all
// others, and those after.
constexpr std::string_view kFirst[] = {
    "stem",        "trunk_output", "features",    "proj",        "f",           "a",
    "b",           "se",           "c",           "conv0",       "norm0",       "norm",
    "conv",        "norm1",        "conv1",       "bn1",         "norm2",       "conv2",
    "bn2",         "conv3",        "bn3",         "bn",          "denseblock1", "transition1",
    "denseblock2", "transition2",  "denseblock3", "transition3", "denseblock4", "squeeze",
    "expand1x1",   "expand3x3"};
constexpr std::string_view kLast[] = {"norm5", "downsample", "conv5", "fc", "classifier"};
constexpr size_t kBetween = std::size(kFirst);
// Last too where a network has these (ShuffleNetV2); elsewhere the number says when it runs.
constexpr std::string_view kAfterStages = "conv5", kStage = "stage4.";

// Names of timm's modules, in the order in which they run, of networks of these modules. The first
// line that has all modules of a module says the order of these.
struct TimmOrder {
  std::string_view network, modules;
};
constexpr std::string_view kEfficientNet = "conv_stem bn1 blocks conv_head bn2 classifier";
constexpr std::string_view kConvNext = "stem stages head";
constexpr TimmOrder kOrders[] = {{kEfficientNet, kEfficientNet},
                                 {kEfficientNet, "conv_dw bn1 se conv_pw bn2"},
                                 {kEfficientNet, "conv_pw bn1 conv_dw bn2 se conv_pwl bn3"},
                                 {kEfficientNet, "conv_reduce conv_expand"},
                                 {kConvNext, kConvNext},
                                 {kConvNext, "downsample blocks"},
                                 {kConvNext, "conv_dw norm mlp"}};
constexpr size_t kFewestModules = 3;  // of a network, that say that it is timm's
// Heads that only training has, as torchvision calls them.
constexpr std::string_view kHeads[] = {"aux1", "aux2", "AuxLogits", "aux_classifier"};

// What a part of a name sorts by: its place, then letters and numbers in turn.
struct Key {
  size_t place = kBetween;
  std::vector<std::pair<std::string, int64_t>> pieces = {};
  friend auto operator<=>(const Key&, const Key&) = default;
};

Key KeyOf(std::string_view part, bool has_stages) {
  Key key;
  const auto* first = std::ranges::find(kFirst, part);
  const auto* last =
      part == kAfterStages && !has_stages ? std::end(kLast) : std::ranges::find(kLast, part);
  if (first != std::end(kFirst)) key.place = size_t(first - kFirst);
  if (last != std::end(kLast)) key.place = kBetween + 1 + size_t(last - kLast);
  while (!part.empty()) {
    const size_t letters = std::min(part.find_first_of("0123456789"), part.size());
    const size_t end = std::min(part.find_first_not_of("0123456789", letters), part.size());
    int64_t number = -1;
    for (size_t i = letters; i < std::min(end, letters + 9); ++i) {
      number = std::max<int64_t>(number, 0) * 10 + (part[i] - '0');
    }
    key.pieces.emplace_back(std::string(part.substr(0, letters)), number);
    part.remove_prefix(end);
  }
  return key;
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (const auto part : absl::StrSplit(absl::string_view(text.data(), text.size()), separator)) {
    parts.emplace_back(part.data(), part.size());
  }
  return parts;
}

// Keys of modules, by all names of a file; these outlive it.
class KeyMaker {
 public:
  explicit KeyMaker(const std::vector<TorchModule>& modules) {
    std::map<std::string_view, std::set<std::string_view>> children;
    for (const TorchModule& module : modules) {
      has_stages_ = has_stages_ || module.name.starts_with(kStage);
      ForEachPart(module.name, [&](std::string_view parent, std::string_view part) {
        children[parent].insert(part);
      });
    }
    const std::set<std::string_view>& network = children[""];
    if (network.size() < kFewestModules) return;
    for (const auto& [parent, names] : children) {
      for (const TimmOrder& order : kOrders) {
        if (!HasAll(order.network, network) || !HasAll(order.modules, names)) continue;
        orders_.emplace(parent, Split(order.modules, ' '));
        break;
      }
    }
  }

  std::vector<Key> KeysOf(std::string_view name) const {
    std::vector<Key> keys;
    ForEachPart(name, [&](std::string_view parent, std::string_view part) {
      const auto order = orders_.find(parent);
      if (order == orders_.end()) {
        keys.push_back(KeyOf(part, has_stages_));
      } else {
        const auto place = std::ranges::find(order->second, part);
        keys.push_back({.place = size_t(place - order->second.begin())});
      }
    });
    return keys;
  }

 private:
  static bool HasAll(std::string_view order, const std::set<std::string_view>& names) {
    const std::vector<std::string_view> parts = Split(order, ' ');
    return std::ranges::all_of(names, [&](std::string_view name) {
      return std::ranges::find(parts, name) != parts.end();
    });
  }
  // The parts of a name, and what stands before each.
  static void ForEachPart(std::string_view name, const auto& use) {
    size_t begin = 0;
    for (const std::string_view part : Split(name, '.')) {
      use(name.substr(0, begin), part);
      begin += part.size() + 1;
    }
  }

  bool has_stages_ = false;
  std::map<std::string_view, std::vector<std::string_view>> orders_;
};

// Whether the names tell which of two modules runs first: by words of the tables above, or by
// numbers or neighbours in the alphabet after the same words ("inception3a", "inception3b").
bool OrderIsKnown(const std::vector<Key>& left, const std::vector<Key>& right) {
  for (size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
    if (left[i] == right[i]) continue;
    if (left[i].place != right[i].place) return true;
    const auto [l, r] = std::ranges::mismatch(left[i].pieces, right[i].pieces);
    if (l == left[i].pieces.end() || r == right[i].pieces.end()) return false;
    if (l->first == r->first) return l->second >= 0 && r->second >= 0;
    return l != left[i].pieces.begin() && l->first.size() == 1 && r->first.size() == 1 &&
           r->first[0] - l->first[0] == 1;
  }
  return true;
}

}  // namespace

std::vector<TorchModule> ModulesOf(const NamedTensors& weights) {
  std::vector<TorchModule> modules;
  std::map<std::string, size_t> places;
  for (const auto& [name, tensor] : weights) {
    const size_t dot = name.rfind('.');
    const std::string module = dot == name.npos ? "" : name.substr(0, dot);
    const auto [at, is_new] = places.emplace(module, modules.size());
    if (is_new) modules.push_back({.name = module, .arrays = {}});
    modules[at->second].arrays[name.substr(dot == name.npos ? 0 : dot + 1)] = &tensor;
  }
  return modules;
}

std::string RemoveAuxiliaryHeads(const Graph* graph, std::vector<TorchModule>& modules) {
  std::set<std::string_view> layers;
  std::set<std::string> heads;
  if (graph != nullptr) {
    for (const Node& node : graph->nodes()) layers.insert(node.name);
  }
  std::erase_if(modules, [&](const TorchModule& module) {
    const std::string_view name = module.name;
    const auto* head = std::ranges::find(kHeads, name.substr(0, name.find('.')));
    if (head == std::end(kHeads) || layers.contains(name)) return false;
    heads.emplace(*head);
    return true;
  });
  if (heads.empty()) return "";
  return StrCat("skips ", absl::StrJoin(heads, ", "), ": heads that only training has");
}

absl::Status SortByNames(std::vector<TorchModule>& modules) {
  const KeyMaker maker(modules);
  std::vector<std::pair<std::vector<Key>, TorchModule>> sorted;
  for (const TorchModule& module : modules) {
    sorted.emplace_back(maker.KeysOf(module.name), module);
  }
  std::ranges::stable_sort(
      sorted, {}, [](const auto& entry) -> const auto& { return entry.first; });
  for (size_t i = 0; i < sorted.size(); ++i) modules[i] = std::move(sorted[i].second);
  for (size_t i = 1; i < modules.size(); ++i) {
    if (OrderIsKnown(sorted[i - 1].first, sorted[i].first)) continue;
    return InvalidArgument("which of \"", modules[i - 1].name, "\" and \"", modules[i].name,
                           "\" runs first, is not known; a .pth file has modules in their order");
  }
  return absl::OkStatus();
}

void MoveLayerScales(std::vector<TorchModule>& modules) {
  for (auto scale = modules.begin(); scale != modules.end(); ++scale) {
    if (scale->LayerScale().empty()) continue;
    const std::string block = scale->name + ".";
    const auto end = std::find_if(scale + 1, modules.end(), [&](const TorchModule& module) {
      return !module.name.starts_with(block);
    });
    std::rotate(scale, scale + 1, end);
    scale = end - 1;
  }
}

bool SortByLayers(const Graph& graph, std::vector<TorchModule>& modules) {
  std::map<std::string_view, int> ids;
  for (const Node& node : graph.nodes()) ids[node.name] = node.id;
  const bool all = std::ranges::all_of(
      modules, [&](const TorchModule& m) { return m.Type().empty() || ids.contains(m.name); });
  if (!all) return false;
  const auto id = [&](const TorchModule& m) { return ids.contains(m.name) ? ids.at(m.name) : -1; };
  std::ranges::stable_sort(modules, {}, id);
  return true;
}

}  // namespace dtnn
