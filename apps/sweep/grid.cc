#include "apps/sweep/grid.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_join.h"
#include "apps/flags/arguments.h"
#include "apps/flags/parser.h"
#include "comm/ranks/job/exit_code.h"
#include "tensor/errors.h"
#include "tensor/status_macros.h"
#include "tensor/text/nearest.h"

namespace dtnn {
namespace {

constexpr size_t kMostRuns = 10'000, kMostNameBytes = 255;

// What a sweep sets for each run.
constexpr std::string_view kOwn[] = {"history-file", "checkpoint-dir", "resume", "save-model",
                                     "save-options", "options",        "dry-run"};

// Cut at commas outside of brackets, which are taken off.
absl::StatusOr<std::vector<std::string>> SplitValues(std::string_view text) {
  std::vector<std::string> values = {""};
  bool inside = false;
  for (const char c : text) {
    if (c == '[' || c == ']') {
      if (inside == (c == '['))
        return absl::InvalidArgumentError("has a bracket without its other");
      inside = !inside;
    } else if (c == ',' && !inside) {
      values.emplace_back();
    } else {
      values.back() += c;
    }
  }
  if (inside) return absl::InvalidArgumentError("has a bracket without its other");
  return values;
}

std::string Argument(std::string_view name, std::string_view value) {
  return StrCat("--", name, "=", value);
}

// The option's name as the table spells it.
absl::StatusOr<std::string_view> OptionOf(const std::string& argument) {
  const std::vector<std::string> arguments = {argument};
  DTNN_ASSIGN_OR_RETURN(const Arguments parsed, ParseArguments(arguments, FlagSyntax()));
  if (parsed.settings.size() != 1) return UsageError(argument, ": sets no option of a run");
  return parsed.settings[0].spec->name;
}

// A name that a folder can have.
std::string FolderName(std::string name) {
  std::ranges::replace_if(
      name, [](char c) { return c == '/' || c == '\0' || c == '\n' || c == '$'; }, '_');
  return name;
}

}  // namespace

absl::StatusOr<GridAxis> ParseGridAxis(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == text.npos || equals == 0) {
    return UsageError("\"", OneLine(text, 80),
                      "\": expected an option and its values, such as "
                      "learning-rate=0.1,0.01");
  }
  GridAxis axis = {.name = std::string(text.substr(0, equals))};
  auto values = SplitValues(text.substr(equals + 1));
  if (!values.ok()) return UsageError(OneLine(text, 80), ": ", values.status().message());
  axis.values = *std::move(values);
  for (const std::string& value : axis.values) {
    DTNN_ASSIGN_OR_RETURN(const std::string_view option, OptionOf(Argument(axis.name, value)));
    if (std::ranges::count(kOwn, option) > 0) {
      return UsageError("--", option, ": sweep sets this itself, for each run");
    }
  }
  const std::set<std::string> different(axis.values.begin(), axis.values.end());
  if (different.size() < axis.values.size()) {
    return UsageError(OneLine(text, 80), ": has a value twice");
  }
  return axis;
}

absl::StatusOr<std::vector<GridRun>> MakeGrid(const std::vector<std::string>& base,
                                              const std::vector<GridAxis>& axes,
                                              const std::string& folder) {
  std::set<std::string_view> options;  // of the axes
  size_t runs = 1;
  for (const GridAxis& axis : axes) {
    DTNN_ASSIGN_OR_RETURN(const std::string_view option,
                          OptionOf(Argument(axis.name, axis.values[0])));
    if (!options.insert(option).second) return UsageError("--", option, ": is in the grid twice");
    runs *= axis.values.size();
    if (runs > kMostRuns) return UsageError("the grid has more than ", kMostRuns, " runs");
  }
  std::vector<std::string> shared;  // without what the grid or the sweep sets
  for (const std::string& argument : base) {
    DTNN_ASSIGN_OR_RETURN(const std::string_view option, OptionOf(argument));
    if (!options.contains(option) && std::ranges::count(kOwn, option) == 0) {
      shared.push_back(argument);
    }
  }
  std::vector<GridRun> grid;
  std::set<std::string> names;
  for (size_t index = 0; index < runs; ++index) {
    GridRun run;
    std::vector<std::string> arguments = shared, parts;
    size_t below = runs;  // combinations of the axes from here on
    for (const GridAxis& axis : axes) {
      below /= axis.values.size();
      const std::string& value = axis.values[index / below % axis.values.size()];
      run.values.push_back(value);
      arguments.push_back(Argument(axis.name, value));
      parts.push_back(StrCat(axis.name, "=", value));
    }
    run.name = parts.empty() ? "run" : FolderName(absl::StrJoin(parts, ","));
    if (run.name.size() > kMostNameBytes) {
      return UsageError(OneLine(run.name, 80), ": is too long for a folder's name");
    }
    if (!names.insert(run.name).second) {
      return UsageError(run.name, ": two runs would have this folder");
    }
    const std::string own = StrCat(folder, "/", run.name);
    for (const auto& [name, file] :
         {std::pair("history-file", kHistoryFile), std::pair("save-model", kModelFile)}) {
      run.own.push_back(Argument(name, StrCat(own, "/", file)));
    }
    run.own.push_back(Argument("checkpoint-dir", own));
    run.own.push_back("--resume=if-there");
    absl::StatusOr<CommandLine> repeated = WithContext(ParseFlags(arguments), run.name);
    if (!repeated.ok()) return WithExitCode(repeated.status(), kExitUsage);
    run.options = std::move(repeated->options);
    arguments.insert(arguments.end(), run.own.begin(), run.own.end());
    absl::StatusOr<CommandLine> parsed = WithContext(ParseFlags(arguments), run.name);
    if (!parsed.ok()) return WithExitCode(parsed.status(), kExitUsage);
    run.warnings = std::move(parsed->warnings);
    grid.push_back(std::move(run));
  }
  return grid;
}

}  // namespace dtnn
