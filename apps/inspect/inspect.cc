// Tells what is in files of weights and in checkpoints.

#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "apps/flags/tool_flags.h"
#include "apps/help/tool_help.h"
#include "apps/inspect/run.h"
#include "apps/program/paths.h"
#include "apps/program/run_program.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

constexpr ProgramText kProgramText = {
    .name = "inspect",
    .does = "shows the contents of models, weights and checkpoints",
    .text =
        "inspect [--format=json] FILE...\n"
        "\n"
        "Prints the contents of models, weights (.npz, .safetensors) and checkpoints: the\n"
        "network, its preprocessing, classes and training, and every array. Exit code 1 when a\n"
        "file cannot be read.",
    .files = true,
};

absl::Status Run(const std::vector<std::string>& arguments) {
  DTNN_RETURN_IF_ERROR(EnterUserDirectory());
  std::string format = "text";
  std::vector<std::string> files;
  const OptionSpec flags[] = {
      {.name = "format",
       .type = OptionType::kWord,
       .help = "format of the output; json: one object per file, a line each",
       .words = "text,json",
       .field = &format}};
  DTNN_ASSIGN_OR_RETURN(const ToolRequest request, ParseToolFlags(arguments, flags, &files));
  if (request.action == Action::kHelp) {
    std::cout << ToolHelp(kProgramText, flags, request.help_topic);
    return absl::OkStatus();
  }
  return InspectFiles(files, format, std::cout, std::cerr);
}

}  // namespace
}  // namespace dtnn

int main(int argc, char** argv) {
  return dtnn::RunProgram(dtnn::kProgramText.name, argc, argv, "inspect one file at a time",
                          dtnn::Run);
}
