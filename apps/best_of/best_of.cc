// Finds the fastest algorithm of every convolution of a network by timing them.

#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "apps/best_of/run.h"
#include "apps/flags/options.h"
#include "apps/flags/tool_flags.h"
#include "apps/help/tool_help.h"
#include "apps/printing/name_lists.h"
#include "apps/program/paths.h"
#include "apps/program/run_program.h"
#include "comm/ranks/job/exit_code.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

constexpr ProgramText kProgramText = {
    .name = "best_of",
    .does = "times the algorithms of a network's convolutions",
    .text =
        "best_of --model=NAME [--batch-size=N] [--best-of-file=FILE]\n"
        "\n"
        "Times the algorithms of every convolution of a network, for training and for\n"
        "evaluation, and prints which is the fastest. Needs no data. A run of benchmark with\n"
        "--enable-best-of, the same --best-of-file and the same number of threads then runs the\n"
        "fastest without timing.",
};

absl::Status Run(const std::vector<std::string>& arguments) {
  DTNN_RETURN_IF_ERROR(EnterUserDirectory());
  Options options;
  const OptionSpec flags[] = {
      LikeLauncher("model", &options.network.name),
      LikeLauncher("dataset", &options.data.name,
                   "data set whose shape the samples have; if not given, the model's own"),
      LikeLauncher("batch-size", &options.training.batch, "samples per step; 64 if not given"),
      LikeLauncher("dtype", &options.network.dtype),
      LikeLauncher("tensor-format", &options.network.format),
      LikeLauncher("freeze", &options.network.freeze),
      LikeLauncher("evaluate-only", &options.training.evaluate_only,
                   "time only the convolutions of evaluation"),
      LikeLauncher("enable-fused-conv-relu", &options.device.fusions.conv_relu),
      LikeLauncher("enable-fused-conv-bn", &options.device.fusions.conv_bn),
      LikeLauncher("enable-fused-conv-bn-relu", &options.device.fusions.conv_bn_relu),
      LikeLauncher("conv-direct-methods-for-best-of", &options.convolution.best_of_methods),
      LikeLauncher("best-of-file", &options.convolution.best_of_file,
                   "file of decisions: those in it are not timed again, new ones are added"),
  };
  DTNN_ASSIGN_OR_RETURN(const ToolRequest request, ParseToolFlags(arguments, flags));
  if (request.action == Action::kHelp) {
    std::cout << ToolHelp(kProgramText, flags, request.help_topic);
    return absl::OkStatus();
  }
  if (PrintList(request.action, std::cout)) return absl::OkStatus();
  if (options.network.name.empty()) {
    return UsageError(
        "--model: missing; name a network, such as --model=simplecnn (--model=list shows all)");
  }
  DTNN_RETURN_IF_ERROR(CheckModelName(options.network.name));
  return RunBestOf(options, std::cout, std::cerr);
}

}  // namespace
}  // namespace dtnn

int main(int argc, char** argv) {
  return dtnn::RunProgram(dtnn::kProgramText.name, argc, argv, "a smaller --batch-size needs less",
                          dtnn::Run);
}
