// Compares runs by their histories and checkpoints: a table, a page or a picture.

#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "apps/flags/tool_flags.h"
#include "apps/help/tool_help.h"
#include "apps/program/paths.h"
#include "apps/program/run_program.h"
#include "apps/report/run.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

constexpr ProgramText kProgramText = {
    .name = "report",
    .does = "puts runs side by side",
    .text =
        "report RUN [RUN ...]                    prints last and best values of runs, and "
        "settings\n"
        "report RUN [RUN ...] --output=FILE      draws them: .html all, .svg one metric\n"
        "\n"
        "A run is a file that benchmark --history-file wrote (.csv, .jsonl), a checkpoint\n"
        "(.npz), the folder of --checkpoint-dir, perhaps with the history in it, or a saved\n"
        "model.",
    .files = true,
};

absl::Status Run(const std::vector<std::string>& arguments) {
  DTNN_RETURN_IF_ERROR(EnterUserDirectory());
  ReportOptions options;
  const OptionSpec flags[] = {
      {.name = "output",
       .type = OptionType::kPath,
       .help = "write a page (.html) or a picture (.svg) to this file",
       .field = &options.output},
      {.name = "metric",
       .type = OptionType::kText,
       .help = "metric of the picture; if not given, the validation loss",
       .field = &options.metric},
  };
  DTNN_ASSIGN_OR_RETURN(const ToolRequest request,
                        ParseToolFlags(arguments, flags, &options.files));
  if (request.action == Action::kHelp) {
    std::cout << ToolHelp(kProgramText, flags, request.help_topic);
    return absl::OkStatus();
  }
  return ReportRuns(options, std::cout);
}

}  // namespace
}  // namespace dtnn

int main(int argc, char** argv) {
  return dtnn::RunProgram(dtnn::kProgramText.name, argc, argv, "compare fewer runs", dtnn::Run);
}
