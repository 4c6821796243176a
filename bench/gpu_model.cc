// bazel run //bench:gpu_model -- [--models=a,b] [--batch=128] [--math-mode=bf16] [--format=NHWC]
//                                [--json=FILE]
//
// What a training step on a GPU moves through its memory, kernel by kernel, and how long it would
// take on an H100: predicted, on a machine without one (step_table.h).

#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "apps/flags/tool_flags.h"
#include "apps/help/tool_help.h"
#include "apps/printing/name_lists.h"
#include "apps/program/run_program.h"
#include "bench/measured_networks.h"
#include "bench/step_table.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

constexpr ProgramText kProgramText = {
    .name = "gpu_model",
    .does = "predicts a training step on a GPU",
    .text =
        "gpu_model [--models=NAME,...]\n\nPredicts what a training step on a GPU reads, writes and "
        "takes, kernel by kernel, without one."};

absl::Status Run(const std::vector<std::string>& arguments) {
  MeasuredNetworks options = {.models = "resnet50_imagenet", .math_mode = "bf16", .batch = 128};
  const std::vector<OptionSpec> flags = options.Flags();
  DTNN_ASSIGN_OR_RETURN(const ToolRequest request, ParseToolFlags(arguments, flags));
  if (request.action == Action::kHelp) {
    std::cout << ToolHelp(kProgramText, flags, request.help_topic);
    return absl::OkStatus();
  }
  if (PrintList(request.action, std::cout)) return absl::OkStatus();
  DTNN_ASSIGN_OR_RETURN(const std::vector<std::string> names, options.Names());
  for (const std::string& name : names) {
    const ModelRunOptions run = options.RunOf(name);
    DTNN_ASSIGN_OR_RETURN(const StepTable table, TableOfStep(run));
    std::printf("%s, batch %d, %s, %s\n%s", name.c_str(), int(run.batch), options.math_mode.c_str(),
                options.format.c_str(), ToText(table).c_str());
    DTNN_RETURN_IF_ERROR(options.Append(ToJson(table, run) + "\n"));
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace dtnn

int main(int argc, char** argv) {
  return dtnn::RunProgram("gpu_model", argc, argv, "a smaller --batch needs less", dtnn::Run);
}
