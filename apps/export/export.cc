// Writes a model as ONNX, for other programs.

#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "apps/conversion/export_model.h"
#include "apps/flags/option_spec.h"
#include "apps/flags/tool_flags.h"
#include "apps/help/tool_help.h"
#include "apps/program/paths.h"
#include "apps/program/program_command.h"
#include "apps/program/run_program.h"
#include "comm/ranks/job/exit_code.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

constexpr ProgramText kProgramText = {
    .name = "export",
    .does = "writes a model as ONNX",
    .text =
        "export MODEL OUT.onnx\n"
        "\n"
        "Writes MODEL as ONNX, for ONNX Runtime and other programs: opset 17, float32, a batch\n"
        "of any size, with preprocessing and classes in the metadata. MODEL is a file that\n"
        "training saved (.npz, .safetensors), or the name of a network, which is exported with\n"
        "initial weights.",
    .files = true,
};

absl::Status Run(const std::vector<std::string>& arguments) {
  DTNN_RETURN_IF_ERROR(EnterUserDirectory());
  ExportFlags options;
  std::vector<std::string> files;
  const std::vector<OptionSpec> flags = OptionsOf(options);
  DTNN_ASSIGN_OR_RETURN(const ToolRequest request, ParseToolFlags(arguments, flags, &files));
  if (request.action == Action::kHelp) {
    std::cout << ToolHelp(kProgramText, flags, request.help_topic);
    return absl::OkStatus();
  }
  if (files.size() != 2) {
    return UsageError("expected a model and the .onnx file to write, not ", files.size(),
                      " names; such as: ", ProgramCommand("export"), " net.safetensors net.onnx");
  }
  options.model = files[0];
  options.out = files[1];
  return ExportToOnnx(options, std::cout);
}

}  // namespace
}  // namespace dtnn

int main(int argc, char** argv) {
  return dtnn::RunProgram(dtnn::kProgramText.name, argc, argv, "export a smaller network",
                          dtnn::Run);
}
