// Checks the files of a data set. Downloads nothing.

#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "apps/check_dataset/run.h"
#include "apps/flags/tool_flags.h"
#include "apps/help/tool_help.h"
#include "apps/printing/name_lists.h"
#include "apps/program/paths.h"
#include "apps/program/run_program.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

constexpr ProgramText kProgramText = {
    .name = "check_dataset",
    .does = "checks whether the files of a data set are there and intact",
    .text =
        "check_dataset --dataset=NAME --dataset-path=PATH\n"
        "\n"
        "Says whether all files of a data set are there and intact, and where to get them.\n"
        "Downloads nothing. Exit code 1 when something is missing or wrong.",
};

absl::Status Run(const std::vector<std::string>& arguments) {
  DTNN_RETURN_IF_ERROR(EnterUserDirectory());
  CheckOptions options;
  const OptionSpec flags[] = {
      LikeLauncher("dataset", &options.dataset,
                   "data set whose files are checked; --dataset=list shows all"),
      LikeLauncher("dataset-path", &options.path,
                   "folder or archive of its files, as benchmark takes it"),
      {.name = "read",
       .type = OptionType::kBool,
       .help = "also read every sample, and check the checksums of files above 1 GiB",
       .field = &options.read},
  };
  DTNN_ASSIGN_OR_RETURN(const ToolRequest request, ParseToolFlags(arguments, flags));
  if (request.action == Action::kHelp) {
    std::cout << ToolHelp(kProgramText, flags, request.help_topic);
    return absl::OkStatus();
  }
  if (PrintList(request.action, std::cout)) return absl::OkStatus();
  return CheckDataset(options, std::cout);
}

}  // namespace
}  // namespace dtnn

int main(int argc, char** argv) {
  return dtnn::RunProgram(dtnn::kProgramText.name, argc, argv, "use a smaller part of the data",
                          dtnn::Run);
}
