// Prints what shells and man need to know of the launcher's options.

#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "apps/completion/bash_completion.h"
#include "apps/completion/man_page.h"
#include "apps/completion/zsh_completion.h"
#include "apps/flags/option_table.h"
#include "apps/flags/tool_flags.h"
#include "apps/program/run_program.h"
#include "comm/ranks/job/exit_code.h"
#include "models/zoo/zoo.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

constexpr char kSummary[] =
    "completion bash|zsh|man\n"
    "\n"
    "Prints a script that lets the shell complete benchmark's options, or benchmark's manual "
    "page:\n"
    "  source <(completion bash)\n"
    "  completion man > ~/.local/share/man/man1/benchmark.1";

constexpr char kLauncher[] = "benchmark";

std::vector<std::string> NamesOfOption(std::string_view option) {
  std::vector<std::string> names;
  if (option != "model") return names;
  for (const ModelInfo& model : ZooModels()) names.emplace_back(model.name);
  return names;
}

absl::Status Run(const std::vector<std::string>& arguments) {
  std::string program = kLauncher;
  const OptionSpec flags[] = {
      {.name = "program",
       .type = OptionType::kText,
       .help = "what the launcher is called",
       .field = &program},
  };
  std::vector<std::string> words;
  DTNN_ASSIGN_OR_RETURN(const ToolRequest request, ParseToolFlags(arguments, flags, &words));
  if (request.action == Action::kHelp) {
    std::cout << ToolHelp(kSummary, flags, request.help_topic);
    return absl::OkStatus();
  }
  const bool plain = !program.empty() && program.find_first_not_of(
                                             "abcdefghijklmnopqrstuvwxyzABCDE"
                                             "FGHIJKLMNOPQRSTUVWXYZ0123456789"
                                             "_") == program.npos;
  if (!plain) {
    return UsageError("--program=", OneLine(program, 80),
                      ": must be letters, digits and underscores");
  }
  std::vector<std::string_view> topics = {"all"};
  for (int g = 0; g < kOptionGroups; ++g) topics.push_back(Name(OptionGroup(g)));
  if (words == std::vector<std::string>{"bash"}) {
    std::cout << BashCompletion(program, OptionTable(), topics, NamesOfOption);
  } else if (words == std::vector<std::string>{"zsh"}) {
    std::cout << ZshCompletion(program, OptionTable(), topics, NamesOfOption);
  } else if (words == std::vector<std::string>{"man"}) {
    std::cout << ManPage(program, OptionTable());
  } else {
    return UsageError("what to print: must be one of bash, zsh or man (--help explains them)");
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace dtnn

int main(int argc, char** argv) {
  return dtnn::RunProgram("completion", argc, argv, "", dtnn::Run);
}
