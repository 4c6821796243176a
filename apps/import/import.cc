// Makes a model of an ONNX file or of weights of PyTorch.

#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "apps/conversion/import_model.h"
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
    .name = "import",
    .does = "makes a model of an ONNX file, or of weights of PyTorch",
    .text =
        "import IN.onnx OUT\n"
        "import WEIGHTS.pth --model=NAME OUT\n"
        "\n"
        "Makes a model (.safetensors, .npz) of a convolutional network in ONNX, such as PyTorch\n"
        "exports. predict, quantize, inspect and benchmark use it like one that was trained\n"
        "here. An operator that no layer computes is an error that names the node. ONNX does\n"
        "not say how images are preprocessed or what classes are called: options do, unless\n"
        "export wrote the file. Weights of PyTorch (.pth, .pt, .safetensors) fill a network of\n"
        "the same structure.",
    .files = true,
};

absl::Status Run(const std::vector<std::string>& arguments) {
  DTNN_RETURN_IF_ERROR(EnterUserDirectory());
  ImportFlags options;
  std::vector<std::string> files;
  const std::vector<OptionSpec> flags = OptionsOf(options);
  DTNN_ASSIGN_OR_RETURN(const ToolRequest request, ParseToolFlags(arguments, flags, &files));
  if (request.action == Action::kHelp) {
    std::cout << ToolHelp(kProgramText, flags, request.help_topic);
    return absl::OkStatus();
  }
  if (PrintList(request.action, std::cout)) return absl::OkStatus();
  if (files.size() != 2) {
    return UsageError("expected an .onnx or .pth file and the model to write, not ", files.size(),
                      " names; such as: ", ProgramCommand("import"), " net.onnx net.safetensors");
  }
  options.in = files[0];
  options.out = files[1];
  return ImportModelFile(options, std::cout);
}

}  // namespace
}  // namespace dtnn

int main(int argc, char** argv) {
  return dtnn::RunProgram(dtnn::kProgramText.name, argc, argv, "import a smaller network",
                          dtnn::Run);
}
