#include "models/graph/table.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "kernels/device/device_traits.h"
#include "tensor/text/counted.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

constexpr std::array<int, 6> kWidths = {7, 26, 9, 15, 19, 37};

// Centred; an odd blank goes to the right.
std::string Centre(const std::string& text, int width) {
  const int spare = std::max(0, width - int(text.size()));
  return std::string(size_t(spare / 2), ' ') + text + std::string(size_t(spare - spare / 2), ' ');
}

std::string Separator() {
  std::string line = "+";
  for (int width : kWidths) line += std::string(size_t(width), '-') + "+";
  return line + "\n";
}

std::string Row(const std::array<std::string, 6>& cells) {
  std::string line = "|";
  for (size_t i = 0; i < cells.size(); ++i) line += Centre(cells[i], kWidths[i]) + "|";
  return line + "\n";
}

// Below the layers.
std::string Total(const std::string& what, int64_t count, DType dtype, const std::string& note) {
  return StrCat("|", std::string(size_t(kWidths[0]), ' '), " ", Centre(what, kWidths[1]), " ",
                Centre(std::to_string(count), kWidths[2]), " ",
                Centre(FormatBytes(double(count) * double(SizeOf(dtype))), kWidths[3]), " ",
                Centre(note, kWidths[4]), " ", std::string(size_t(kWidths[5]), ' '), "|\n");
}

class TableMaker {
 public:
  TableMaker(const Graph& graph, Device device) : graph_(graph), suffix_(TraitsOf(device).kind) {}

  std::string Rows(const std::vector<LayoutItem>& items, bool top) {
    std::string text;
    for (const LayoutItem& item : items) {
      if (top) text += Separator();
      text += item.paths.empty() ? LayerRow(item) : BlockRows(item);
    }
    return text;
  }

 private:
  std::string LayerRow(const LayoutItem& item) {
    const Node& node = graph_.nodes()[size_t(item.node)];
    int64_t count = 0;
    for (const ParameterSpec& parameter : node.parameters) count += parameter.shape.NumElements();
    return Row({std::to_string(node.id) + (node.frozen ? " *" : ""),
                std::string(node.layer->type_name()) + suffix_, std::to_string(count),
                node.output.ToString(), node.layer->WeightsCell(node.input_shapes, graph_.format()),
                node.layer->SettingsCell()});
  }

  std::string BlockRows(const LayoutItem& item) {
    const Node& node = graph_.nodes()[size_t(item.node)];
    std::string name(node.layer->type_name());
    if (name == "ConcatenationBlock") name = "ConcatBlock";  // so that the suffix fits the column
    std::string text =
        Row({std::to_string(node.id), StrCat(name, suffix_, " (", item.paths.size(), "-path)"), "",
             node.output.ToString(), "", ""});
    for (size_t path = 0; path < item.paths.size(); ++path) {
      text += Row({StrCat("Path ", path), "", "", "", "", ""});
      text += Rows(item.paths[path], /*top=*/false);
    }
    return text;
  }

  const Graph& graph_;
  std::string suffix_;
};

}  // namespace

std::string FormatBytes(double bytes) {
  constexpr std::array<const char*, 4> kUnits = {"Bytes", "KBytes", "MBytes", "GBytes"};
  size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  std::string number = absl::StrFormat("%.2f", bytes);
  if (number.back() == '0') number.pop_back();  // 1.50 -> 1.5, 2.00 -> 2.0
  return StrCat(number, " ", kUnits[unit]);
}

std::string FormatTable(const Graph& graph, DType dtype, Device device) {
  std::string text =
      Separator() +
      Row({"Layer", "Type", "#Params", "Output shape", "Weights shape", "Parameters"}) +
      TableMaker(graph, device).Rows(graph.layout(), /*top=*/true) + Separator();
  text += Total("Total parameters", graph.num_parameters(), dtype, "");
  if (std::ranges::any_of(graph.nodes(), &Node::frozen)) {
    text += Total("Trainable parameters", graph.num_trainable_parameters(), dtype, "* frozen");
  }
  return text + Separator();
}

std::string FormatSummary(const Graph& graph, DType dtype) {
  std::vector<std::pair<std::string, int>> types;
  for (const Node& node : std::span(graph.nodes()).subspan(1)) {  // without the input
    const std::string type(node.layer->type_name());
    const auto at = std::ranges::find(types, type, &std::pair<std::string, int>::first);
    at == types.end() ? types.emplace_back(type, 1).second : ++at->second;
  }
  std::vector<std::string> counts;
  for (const auto& [type, count] : types) {
    counts.push_back(count == 1 ? type : StrCat(count, " ", type));
  }
  const int64_t parameters = graph.num_parameters(), trainable = graph.num_trainable_parameters();
  return StrCat("  ", Counted(int64_t(graph.nodes().size()) - 1, "layer"), ": ",
                absl::StrJoin(counts, ", "), "\n  input ", graph.input_shape().ToString(),
                ", output ", graph.output_shape().ToString(), ", ",
                Counted(parameters, "parameter"), " (",
                FormatBytes(double(parameters) * double(SizeOf(dtype))), ")",
                trainable < parameters ? StrCat(", ", trainable, " of them trainable") : "", "\n");
}

}  // namespace dtnn
