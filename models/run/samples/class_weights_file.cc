#include "models/run/samples/class_weights_file.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "tensor/errors.h"
#include "tensor/files/atomic_file.h"
#include "tensor/text/class_name.h"
#include "tensor/text/counted.h"
#include "tensor/text/number.h"

namespace dtnn {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 24;

}  // namespace

absl::StatusOr<std::vector<ClassWeightLine>> ReadClassWeights(const std::string& path) {
  DTNN_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, ReadFile(path, kMostBytes));
  return ParseClassWeights({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

absl::StatusOr<std::vector<ClassWeightLine>> ParseClassWeights(std::string_view text,
                                                               std::string_view path) {
  std::vector<ClassWeightLine> lines;
  int64_t number = 0;
  for (const absl::string_view each :
       absl::StrSplit(absl::string_view(text.data(), text.size()), '\n')) {
    ++number;
    const absl::string_view line = absl::StripAsciiWhitespace(each);
    if (line.empty()) continue;
    const size_t space = line.find_last_of(" \t");
    const size_t word = space == line.npos ? 0 : space + 1;
    const std::string last(line.substr(word));
    const std::optional<double> weight = NumberIn<double>(last);
    if (!weight || !std::isfinite(*weight) || *weight < 0) {
      return InvalidArgument(
          path, ": line ", number, ": ", Quoted(last, 80),
          " is not a weight; expected a number from 0 on, or the name of a class "
          "and such a number");
    }
    std::string name(absl::StripAsciiWhitespace(line.substr(0, word)));
    if (!name.empty() && !IsClassName(name)) {
      return InvalidArgument(path, ": line ", number, ": ", Quoted(name, 80),
                             " is not the name of a class");
    }
    if (!lines.empty() && name.empty() != lines[0].name.empty()) {
      return InvalidArgument(path, ": line ", number, ": ",
                             name.empty() ? "has no name" : "has a name", ", but line ",
                             lines[0].line, name.empty() ? " has one" : " has none",
                             "; give all weights by name, or all in the order of the classes");
    }
    lines.push_back({.line = number, .name = std::move(name), .weight = *weight});
  }
  if (std::ranges::all_of(lines, [](const ClassWeightLine& line) { return line.weight == 0; })) {
    return InvalidArgument(path, ": ", lines.empty() ? "has no weights" : "all weights are 0",
                           ", so there is nothing to learn");
  }
  return lines;
}

absl::StatusOr<std::vector<double>> OrderClassWeights(const std::vector<ClassWeightLine>& lines,
                                                      std::string_view path,
                                                      std::string_view dataset, int64_t classes,
                                                      const std::vector<std::string>& names) {
  std::vector<double> weights;
  if (lines.empty() || lines[0].name.empty()) {
    for (const ClassWeightLine& line : lines) weights.push_back(line.weight);
    if (int64_t(weights.size()) == classes) return weights;
    return InvalidArgument(path, ": has ", Counted(int64_t(weights.size()), "weight"), ", but ",
                           dataset, " has ", classes, " classes");
  }
  if (names.empty()) {
    return InvalidArgument(path, ": names classes, but those of ", dataset,
                           " have no names; give a number for each, in their order");
  }
  std::map<std::string_view, std::optional<ClassWeightLine>> known;
  for (const std::string& name : names) known[name];
  for (const ClassWeightLine& line : lines) {
    const auto found = known.find(line.name);
    if (found == known.end()) {
      return InvalidArgument(path, ": line ", line.line, ": ", dataset, " has no class ",
                             Quoted(line.name));
    }
    if (found->second) {
      return InvalidArgument(path, ": line ", line.line, ": class ", Quoted(line.name),
                             " has a weight already, in line ", found->second->line);
    }
    found->second = line;
  }
  for (const std::string& name : names) {
    if (!known[name]) {
      return InvalidArgument(path, ": has no weight for class ", Quoted(name), " of ", dataset);
    }
    weights.push_back(known[name]->weight);
  }
  return weights;
}

}  // namespace dtnn
