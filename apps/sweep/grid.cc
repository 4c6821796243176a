#include "apps/sweep/grid.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <variant>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "apps/flags/arguments.h"
#include "apps/flags/option_table.h"
#include "apps/flags/parser.h"
#include "apps/flags/value.h"
#include "comm/ranks/job/exit_code.h"
#include "tensor/errors.h"
#include "tensor/status_macros.h"
#include "tensor/text/nearest.h"

namespace dtnn {
namespace {

constexpr size_t kMostRuns = 10'000, kMostNameBytes = 255;

// What a sweep sets for each run, beside the names of what a run writes.
constexpr std::string_view kOwn[] = {"resume", "options", "dry-run"};

// What every run writes, and its name in the folder of the run, which is "".
constexpr std::pair<std::string_view, std::string_view> kWritten[] = {
    {"history-file", kHistoryFile}, {"save-model", kModelFile}, {"checkpoint-dir", ""}};
bool IsWritten(std::string_view option) {
  return std::ranges::count(kWritten, option, [](const auto& row) { return row.first; }) > 0;
}

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

// Null where an old spelling leaves its option as it is: enable-conv-gemm=false.
absl::StatusOr<const OptionSpec*> OptionIn(const std::string& argument) {
  const std::vector<std::string> arguments = {argument};
  DTNN_ASSIGN_OR_RETURN(const Arguments parsed, ParseArguments(arguments, FlagSyntax()));
  if (parsed.action != Action::kRun) return UsageError(argument, ": sets no option of a run");
  return parsed.settings.empty() ? nullptr : parsed.settings[0].spec;
}

absl::StatusOr<const OptionSpec*> OptionOf(const std::string& argument) {
  DTNN_ASSIGN_OR_RETURN(const OptionSpec* const option, OptionIn(argument));
  if (option == nullptr) return UsageError(argument, ": sets no option of a run");
  return option;
}

// A name that a folder can have.
std::string FolderName(std::string name) {
  std::ranges::replace_if(
      name, [](char c) { return c == '/' || c == '\0' || c == '\n' || c == '$'; }, '_');
  return name;
}

// The last name of a path; "" for one that has none, such as ".", which is a folder.
std::string LastName(const std::filesystem::path& path) {
  const std::string name = (path.has_filename() ? path : path.parent_path()).filename().string();
  return name == "." || name == ".." ? "" : name;
}

// Arguments by which a run writes into `folder` all that it writes: files that every run has, and
// those that `options` ask for, by the last part of their names.
absl::StatusOr<std::vector<std::string>> Outputs(const Options& options,
                                                 const std::string& folder) {
  std::vector<std::string> arguments;
  std::map<std::string, std::string> writers = {{kOptionsFile, "sweep itself"},
                                                {kLogFile, "sweep itself"}};
  const auto add = [&](std::string_view option, std::string_view name) -> absl::Status {
    const std::string path = name.empty() ? folder : StrCat(folder, "/", name);
    arguments.push_back(Argument(option, path));
    if (name.empty()) return absl::OkStatus();
    const auto [writer, is_new] = writers.emplace(name, StrCat("--", option));
    if (is_new) return absl::OkStatus();
    return UsageError("--", option, ": ", path, " is written by ", writer->second,
                      ", too; give it another name");
  };
  for (const auto& [option, name] : kWritten) DTNN_RETURN_IF_ERROR(add(option, name));
  const Options in_force = OptionsInForce(options);
  for (const OptionSpec& spec : OptionTable()) {
    if (!spec.output || IsWritten(spec.name)) continue;
    const Value value = Load(&in_force, spec);
    const auto* const path = std::get_if<std::string>(&value);
    if (path == nullptr || path->empty()) continue;
    if (absl::StrContains(StrCat(",", spec.words, ","), StrCat(",", *path, ","))) continue;
    DTNN_RETURN_IF_ERROR(add(spec.name, LastName(*path)));
  }
  return arguments;
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
    DTNN_ASSIGN_OR_RETURN(const OptionSpec* const option, OptionOf(Argument(axis.name, value)));
    if (option->output || std::ranges::count(kOwn, option->name) > 0) {
      return UsageError("--", option->name, ": sweep sets this itself, for each run");
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
    DTNN_ASSIGN_OR_RETURN(const OptionSpec* const option,
                          OptionOf(Argument(axis.name, axis.values[0])));
    if (!options.insert(option->name).second) {
      return UsageError("--", option->name, ": is in the grid twice");
    }
    runs *= axis.values.size();
    if (runs > kMostRuns) return UsageError("the grid has more than ", kMostRuns, " runs");
  }
  std::vector<std::string> shared;  // without what the grid or the sweep sets
  for (const std::string& argument : base) {
    DTNN_ASSIGN_OR_RETURN(const OptionSpec* const option, OptionIn(argument));
    if (option == nullptr ||
        (!options.contains(option->name) && std::ranges::count(kOwn, option->name) == 0 &&
         !IsWritten(option->name))) {
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
    absl::StatusOr<CommandLine> repeated = WithContext(ParseFlags(arguments), run.name);
    if (!repeated.ok()) return WithExitCode(repeated.status(), kExitUsage);
    run.options = std::move(repeated->options);
    DTNN_ASSIGN_OR_RETURN(
        run.own, WithContext(Outputs(run.options, StrCat(folder, "/", run.name)), run.name));
    run.own.push_back("--resume=if-there");
    arguments.insert(arguments.end(), run.own.begin(), run.own.end());
    absl::StatusOr<CommandLine> parsed = WithContext(ParseFlags(arguments), run.name);
    if (!parsed.ok()) return WithExitCode(parsed.status(), kExitUsage);
    run.warnings = std::move(parsed->warnings);
    grid.push_back(std::move(run));
  }
  return grid;
}

}  // namespace dtnn
