#include "models/run/tables/memory_table.h"

#include "absl/strings/str_format.h"
#include "models/graph/table.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

std::string Format(const NamedBytes& rows) {
  std::string text;
  for (const auto& [name, bytes] : rows) {
    absl::StrAppendFormat(&text, "  %-29s: %s\n", name, FormatBytes(bytes));
  }
  return text;
}

}  // namespace

double ParameterBytes(const Graph& graph, DType dtype, const Optimizer* optimizer) {
  const double element = double(SizeOf(dtype));
  const double values = double(graph.num_parameters()) * element;
  if (optimizer == nullptr) return values;
  return values + double(graph.num_trainable_parameters()) * element * (1 + optimizer->slots());
}

std::string FormatMemory(const Graph& graph, DType dtype, const PlanMemory& plan,
                         const Optimizer* optimizer) {
  const double element = double(SizeOf(dtype));
  const double values = double(graph.num_parameters()) * element;
  const double trainable =
      optimizer == nullptr ? 0 : double(graph.num_trainable_parameters()) * element;
  const double slots = optimizer == nullptr ? 0 : trainable * optimizer->slots();
  NamedBytes rows = {
      {"parameters", values},
      {"gradients of the parameters", trainable},
      {"optimizer", slots},
      {"activations", double(plan.activations)},
      {"gradients of activations", double(plan.gradients)},
      {"state of layers", double(plan.state)},
      {"shared by the three above", double(plan.arena)},
      {"workspace", double(plan.workspace)},
      {"kept by layers", double(plan.kept)},
      {"all", ParameterBytes(graph, dtype, optimizer) + double(plan.total())},
  };
  if (optimizer != nullptr) rows[2].first = StrCat("optimizer (", optimizer->name(), ")");
  return Format(rows);
}

std::string FormatPlanMemory(const PlanMemory& plan) {
  return Format({{"activations", double(plan.activations)},
                 {"workspace", double(plan.workspace)},
                 {"kept by layers", double(plan.kept)},
                 {"all", double(plan.total())}});
}

std::string FormatOtherMemory(const NamedBytes& others, double all) {
  NamedBytes rows = others;
  rows.emplace_back("all of the run", all);
  return Format(rows);
}

}  // namespace dtnn
