// Runs the launcher with every combination of some options' values.

#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "apps/flags/option_table.h"
#include "apps/flags/tool_flags.h"
#include "apps/help/tool_help.h"
#include "apps/program/paths.h"
#include "apps/program/program_command.h"
#include "apps/program/run_program.h"
#include "apps/sweep/run.h"
#include "comm/ranks/job/exit_code.h"
#include "tensor/status_macros.h"
#include "tensor/text/one_line.h"

namespace dtnn {
namespace {

constexpr ProgramText kProgramText = {
    .name = "sweep",
    .does = "runs benchmark with every combination of some options' values",
    .text =
        "sweep RUN.yaml --grid OPTION=VALUE,VALUE,... [OPTION=VALUE,... ...]\n"
        "\n"
        "Runs benchmark --options=RUN.yaml with every combination of the values, one run after\n"
        "another or several at a time, and prints a table, the best run first. Each run has a\n"
        "folder, with its log, history, checkpoint and model. The same command continues where\n"
        "it was stopped.\n"
        "\n"
        "  sweep run.yaml --grid learning-rate=0.1,0.01 'schedulers=[warm_up,cosine],one_cycle'",
    .files = true,
};

// The launcher, where it is installed or built: beside this program, or above its folder.
absl::StatusOr<std::string> LauncherBeside() {
  std::error_code error;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", error);
  for (const auto& folder : {own.parent_path(), own.parent_path().parent_path()}) {
    const std::filesystem::path path = folder / "benchmark";
    if (std::filesystem::is_regular_file(path, error)) return path.string();
  }
  const bool built = ProgramCommand("benchmark") != InstalledCommand("benchmark");
  return UsageError("benchmark is not beside this program; ",
                    built ? "build it (bazel build //apps:benchmark), or " : "",
                    "say where it is with --program");
}

absl::Status Run(const std::vector<std::string>& arguments) {
  DTNN_RETURN_IF_ERROR(EnterUserDirectory());
  SweepOptions options;
  std::string grid;
  using enum OptionType;
  const OptionSpec flags[] = {
      {.name = "grid",
       .type = kText,
       .help = "an option of benchmark and its values; more may follow, after blanks",
       .unit = "option=value,...",
       .field = &grid,
       .example = "learning-rate=0.1,0.01"},
      {.name = "folder",
       .type = kPath,
       .help = "folder of the runs; if not given, RUN-sweep",
       .field = &options.folder},
      {.name = "jobs",
       .type = kInt,
       .help = "runs at a time, which share the processor's cores",
       .unit = "runs",
       .range = {.low = 1, .high = 1024},
       .field = &options.jobs},
      {.name = "program",
       .type = kPath,
       .help = "the launcher; if not given, the one beside this program",
       .field = &options.program},
  };
  std::vector<std::string> others;
  DTNN_ASSIGN_OR_RETURN(const ToolRequest request, ParseToolFlags(arguments, flags, &others));
  if (request.action == Action::kHelp) {
    std::cout << ToolHelp(kProgramText, flags, request.help_topic);
    return absl::OkStatus();
  }
  if (!grid.empty() && grid.find('=') == grid.npos) {
    return UsageError("--grid=", OneLine(grid, 80),
                      ": expected an option and its values, such as --grid learning-rate=0.1,0.01");
  }
  if (!grid.empty()) others.insert(others.begin(), grid);
  for (const std::string& other : others) {
    if (other.find('=') != other.npos) {
      DTNN_ASSIGN_OR_RETURN(GridAxis axis, ParseGridAxis(other));
      options.grid.push_back(std::move(axis));
    } else if (options.options.empty()) {
      options.options = other;
    } else {
      return UsageError("\"", other, "\": is a second file of options; expected one");
    }
  }
  if (options.options.empty()) {
    return UsageError("expected a file of options, as benchmark --options takes it; such as: ",
                      ProgramCommand("sweep"), " run.yaml --grid learning-rate=0.1,0.01");
  }
  if (options.grid.empty()) {
    return UsageError(
        "--grid: missing; give an option and its values, such as --grid learning-rate=0.1,0.01");
  }
  if (options.folder.empty()) {
    options.folder = std::filesystem::path(options.options).stem().string() + "-sweep";
  }
  if (options.program.empty()) {
    DTNN_ASSIGN_OR_RETURN(options.program, LauncherBeside());
  }
  return Sweep(options, std::cout);
}

}  // namespace
}  // namespace dtnn

int main(int argc, char** argv) {
  return dtnn::RunProgram(dtnn::kProgramText.name, argc, argv, "run fewer --jobs at a time",
                          dtnn::Run);
}
