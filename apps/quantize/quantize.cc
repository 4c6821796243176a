// Prepares a trained model for inference in 8 bits.

#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "apps/conversion/quantize_model.h"
#include "apps/flags/option_spec.h"
#include "apps/flags/tool_flags.h"
#include "apps/help/tool_help.h"
#include "apps/printing/name_lists.h"
#include "apps/program/paths.h"
#include "apps/program/program_command.h"
#include "apps/program/run_program.h"
#include "comm/ranks/job/exit_code.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

constexpr ProgramText kProgramText = {
    .name = "quantize",
    .does = "prepares a trained network for inference in 8 bits",
    .text =
        "quantize MODEL OUT --calibrate=DATASET|FOLDER\n"
        "\n"
        "Prepares a trained model for inference in 8 bits on CPUs: finds the ranges of its\n"
        "values on samples, and writes OUT, which holds them beside the float32 weights. Prints\n"
        "each layer's error, the layers that stay in float32 and why, and the accuracy and\n"
        "speed of both. Use OUT with predict --math-mode=int8.",
    .files = true,
};

absl::Status Run(const std::vector<std::string>& arguments) {
  DTNN_RETURN_IF_ERROR(EnterUserDirectory());
  QuantizeFlags options;
  std::vector<std::string> files;
  const std::vector<OptionSpec> flags = OptionsOf(options);
  DTNN_ASSIGN_OR_RETURN(const ToolRequest request, ParseToolFlags(arguments, flags, &files));
  if (request.action == Action::kHelp) {
    std::cout << ToolHelp(kProgramText, flags, request.help_topic);
    return absl::OkStatus();
  }
  if (PrintList(request.action, std::cout)) return absl::OkStatus();
  if (files.size() != 2) {
    return UsageError("expected two files, a trained model and the one to write, not ",
                      files.size(), "; such as: ", ProgramCommand("quantize"),
                      " net.safetensors net8.safetensors --calibrate=FOLDER");
  }
  if (options.calibrate.empty()) {
    return UsageError("--calibrate: missing; name a data set or a folder of images");
  }
  options.model = files[0];
  options.out = files[1];
  return QuantizeModel(options, std::cout);
}

}  // namespace
}  // namespace dtnn

int main(int argc, char** argv) {
  return dtnn::RunProgram(dtnn::kProgramText.name, argc, argv, "use fewer --samples", dtnn::Run);
}
