#include "models/run/parts/make_model.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "comm/ranks/job/exit_code.h"
#include "models/graph/freeze.h"
#include "models/run/options/option_text.h"
#include "tensor/status_macros.h"
#include "tensor/text/nearest.h"

namespace dtnn {

absl::StatusOr<Graph> FreezeLayers(const RunOptions& options, Graph graph) {
  if (options.network.freeze.empty()) return graph;
  const std::vector<std::string> names = LayersWithParameters(graph);
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  for (const std::string_view pattern : SplitList(options.network.freeze)) {
    absl::StatusOr<Graph> frozen = Freeze(graph, pattern);
    if (!frozen.ok()) {
      return UsageError("RunOptions::network.freeze: ", frozen.status().message(),
                        DidYouMean(pattern, candidates));
    }
    graph = *std::move(frozen);
  }
  return graph;
}

absl::StatusOr<Graph> MakeModel(const RunOptions& options, const ModelOptions& model) {
  DTNN_ASSIGN_OR_RETURN(Graph graph, BuildModel(options.network.name, model));
  return FreezeLayers(options, std::move(graph));
}

absl::StatusOr<Graph> MakeModel(const RunOptions& options, const std::optional<DatasetSize>& data,
                                const Loss& loss) {
  ModelOptions model{.format = FormatOf(options), .final_activation = loss.final_activation()};
  if (data) {
    model.sample = data->sample;
    if (data->outputs > 0) model.classes = data->outputs;
  }
  return MakeModel(options, model);
}

}  // namespace dtnn
