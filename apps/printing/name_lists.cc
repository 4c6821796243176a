#include "apps/printing/name_lists.h"

#include <vector>

#include "absl/strings/str_format.h"
#include "apps/flags/option_table.h"
#include "apps/flags/parser.h"
#include "apps/flags/value.h"
#include "models/zoo/zoo.h"

namespace dtnn {

void ListModels(std::ostream& out) {
  out << absl::StrFormat("%-24s %-13s %10s %13s  %s\n", "model", "input", "parameters",
                         "multiply-adds", "note");
  for (const ModelInfo& model : ZooModels()) {
    const absl::StatusOr<Graph> graph = BuildModel(model.name, {});
    out << absl::StrFormat("%-24s %-13s %10d %13d", graph->name(), graph->input_shape().ToString(),
                           graph->num_parameters(), graph->multiply_adds());
    out << (model.note.empty() ? "" : "  ") << model.note << "\n";
  }
  out << "Names without a data set's suffix adapt to the data set.\n";
}

void ListDatasets(std::ostream& out) {
  const OptionSpec& spec = *FindOption("dataset");
  for (const std::string_view name : SplitList(spec.words)) out << name << "\n";
  for (const std::string_view name : SplitList(spec.missing_words)) {
    out << name << " (not available in this build yet)\n";
  }
}

absl::Status CheckModelName(std::string_view model, std::string_view flag) {
  std::vector<std::string_view> names;
  for (const ModelInfo& known : ZooModels()) names.push_back(known.name);
  return CheckName(flag, model, names);
}

}  // namespace dtnn
