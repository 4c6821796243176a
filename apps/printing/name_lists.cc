#include "apps/printing/name_lists.h"

#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "apps/flags/option_table.h"
#include "apps/flags/parser.h"
#include "apps/flags/value.h"
#include "data/transforms/transform_list.h"
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
  out << "A network whose name has no data set's suffix adapts to the data set.\n";
}

void ListDatasets(std::ostream& out) {
  const OptionSpec& spec = *FindOption("dataset");
  for (const std::string_view name : SplitList(spec.words)) out << name << "\n";
}

void ListTransforms(std::ostream& out) {
  out << "A list such as flip,pad_crop:4,cutout:8:zero is applied in order, to training images "
         "only.\nA name may be followed by its parameters, separated by colons; trailing ones may "
         "be omitted.\n";
  for (const TransformKind* kind : TransformKinds()) {
    out << "\n" << kind->name;
    for (const TransformParameter& parameter : kind->parameters) {
      out << ":" << absl::AsciiStrToUpper(std::string(parameter.name));
    }
    out << "\n  " << kind->effect << "\n";
    for (const TransformParameter& parameter : kind->parameters) {
      const std::string range =
          parameter.words.empty()
              ? absl::StrFormat("%g to %g; default %g", parameter.low, parameter.high,
                                parameter.standard)
              : absl::StrReplaceAll(std::string(parameter.words), {{",", " or "}}) + "; default " +
                    std::string(SplitList(parameter.words)[0]);
      out << absl::StrFormat("    %-12s %s (%s)\n",
                             absl::AsciiStrToUpper(std::string(parameter.name)),
                             std::string(parameter.meaning), range);
    }
  }
}

void ListDirectMethods(std::ostream& out) { out << FindOption("conv-direct-method")->meanings; }

bool PrintList(Action action, std::ostream& out) {
  switch (action) {
    case Action::kListModels:
      ListModels(out);
      return true;
    case Action::kListDatasets:
      ListDatasets(out);
      return true;
    case Action::kListTransforms:
      ListTransforms(out);
      return true;
    case Action::kListDirectMethods:
      ListDirectMethods(out);
      return true;
    case Action::kHelp:
    case Action::kRun:
      return false;
  }
  return false;
}

absl::Status CheckModelName(std::string_view model, std::string_view flag) {
  std::vector<std::string_view> names;
  for (const ModelInfo& known : ZooModels()) names.push_back(known.name);
  return CheckName(flag, model, names);
}

}  // namespace dtnn
