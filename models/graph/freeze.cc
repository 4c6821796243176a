#include "models/graph/freeze.h"

#include <fnmatch.h>

#include <optional>
#include <utility>

#include "tensor/errors.h"
#include "tensor/text/number.h"

namespace dtnn {
namespace {

// The first and the last id of "12" or "1-40"; nothing for other patterns.
std::optional<std::pair<int, int>> ParseIds(std::string_view pattern) {
  const size_t dash = pattern.find('-');
  const std::optional<int> first = NumberIn<int>(pattern.substr(0, dash));
  const std::optional<int> last =
      dash == pattern.npos ? first : NumberIn<int>(pattern.substr(dash + 1));
  if (!first || !last) return std::nullopt;
  return std::pair(*first, *last);
}

}  // namespace

std::vector<std::string> LayersWithParameters(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes()) {
    if (!node.parameters.empty()) names.push_back(node.name);
  }
  return names;
}

absl::StatusOr<Graph> Freeze(const Graph& graph, std::string_view pattern) {
  const std::string glob(pattern);
  const std::optional<std::pair<int, int>> ids = ParseIds(pattern);
  std::vector<int> found;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    const bool meant = ids ? ids->first <= node.id && node.id <= ids->second
                           : fnmatch(glob.c_str(), node.name.c_str(), 0) == 0;
    if (meant && !node.parameters.empty()) found.push_back(int(i));
  }
  if (found.empty()) {
    const std::vector<std::string> names = LayersWithParameters(graph);
    return InvalidArgument("\"", glob, "\" matches no layer with parameters of model ",
                           graph.name(),
                           names.empty() ? ""
                                         : StrCat("; it has ", names.size(), ", \"", names.front(),
                                                  "\" to \"", names.back(), "\""));
  }
  Graph frozen = graph.Frozen(found);
  if (frozen.num_trainable_parameters() > 0) return frozen;
  return InvalidArgument("\"", glob, "\" leaves no parameter of model ", graph.name(), " to train");
}

}  // namespace dtnn
