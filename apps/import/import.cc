// Makes a model of an ONNX file or of weights of PyTorch.

#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "apps/flags/option_table.h"
#include "apps/flags/tool_flags.h"
#include "apps/help/tool_help.h"
#include "apps/import/run.h"
#include "apps/printing/name_lists.h"
#include "apps/program/paths.h"
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

std::vector<OptionSpec> Flags(ImportFlags& options) {
  using enum OptionType;
  constexpr Range kShare = {.low = 0, .high = 1};
  constexpr Range kNumber = {.low = -1e30, .high = 1e30};
  constexpr Range kDeviation = {.low = 1e-30, .high = 1e30};
  return {
      LikeLauncher("model", &options.model,
                   "network that weights are for: its name, or a model's file (.safetensors, .npz) "
                   "that has it; list shows all names"),
      {.name = "weights-map",
       .type = kWord,
       .help = "whose names and order of modules a file of weights has",
       .words = "torchvision",
       .field = &options.weights_map},
      LikeLauncher("weights-partial", &options.weights_partial,
                   "layers that a file of weights has in another shape, such as the last one for "
                   "other classes, keep their initial values"),
      {.name = "final-activation",
       .type = kWord,
       .help = "what is added after the last layer, unless that is it: networks of PyTorch end in "
               "logits, without the softmax by which predict gives probabilities of classes",
       .words = "none,softmax,sigmoid",
       .field = &options.final_activation},
      {.name = "class-names",
       .type = kPath,
       .help = "file with a class name per line, in the order of the outputs",
       .field = &options.class_names},
      {.name = "mean",
       .type = kReals,
       .help = "mean of the training data, of byte / 255: one number, or one per channel",
       .range = kNumber,
       .field = &options.mean},
      {.name = "std",
       .type = kReals,
       .help = "standard deviation of the training data: one number, or one per channel",
       .range = kDeviation,
       .field = &options.std},
      {.name = "square",
       .type = kBool,
       .help =
           "the network was shown the largest square in the middle of an image; otherwise all of "
           "it is stretched to the network's input",
       .field = &options.square},
      {.name = "crop",
       .type = kReal,
       .help = "fraction of each side that it was shown, in the middle; with --square 0.875 is "
               "torchvision's Resize(256), CenterCrop(224); 0: all of it, or as the file says",
       .unit = "fraction",
       .range = kShare,
       .field = &options.crop},
      {.name = "input-shape",
       .type = kInts,
       .help = "size of the network's input, for a file that does not tell it",
       .unit = "channels,height,width",
       .range = kSideRange,
       .field = &options.input_shape},
      {.name = "output",
       .type = kText,
       .help = "name of the output that the network is to have, of a file with several",
       .field = &options.output},
      {.name = "tensor-format",
       .type = kWord,
       .help = "order of the axes of the images that the network computes with; on CPUs NHWC is "
               "faster, and quantize needs it",
       .words = "NHWC,NCHW",
       .field = &options.format},
  };
}

absl::Status Run(const std::vector<std::string>& arguments) {
  DTNN_RETURN_IF_ERROR(EnterUserDirectory());
  ImportFlags options;
  std::vector<std::string> files;
  const std::vector<OptionSpec> flags = Flags(options);
  DTNN_ASSIGN_OR_RETURN(const ToolRequest request, ParseToolFlags(arguments, flags, &files));
  if (request.action == Action::kHelp) {
    std::cout << ToolHelp(kProgramText, flags, request.help_topic);
    return absl::OkStatus();
  }
  if (PrintList(request.action, std::cout)) return absl::OkStatus();
  if (files.size() != 2) {
    return UsageError("expected an .onnx or .pth file and the model to write, not ", files.size(),
                      " names (see --help)");
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
