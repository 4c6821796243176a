// Converts ImageNet, as TFRecord files or as its original archives, to .npz files.

#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "apps/convert_imagenet/run.h"
#include "apps/paths.h"
#include "apps/run_program.h"
#include "apps/tool_flags.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

constexpr char kSummary[] =
    "convert_imagenet --input=FOLDER --output=FOLDER\n\n"
    "Brings ImageNet's images to 227 x 227 and writes them as .npz files for --dataset=imagenet.\n"
    "The input is TFRecord files (train-00000-of-01024, ...) or the original archives\n"
    "(ILSVRC2012_img_train.tar, ...). Run it again to go on after a stop. OMP_NUM_THREADS files "
    "are\n"
    "made at a time, 200 MB of memory each.";

absl::Status Run(const std::vector<std::string>& arguments) {
  DTNN_RETURN_IF_ERROR(EnterUserDirectory());
  ConvertOptions options;
  const ToolFlag flags[] = {
      {"input", &options.input, "folder of the TFRecord files or archives"},
      {"output", &options.output, "folder of the .npz files; made where it is missing"},
      {"part", &options.part, "all, train or validation"},
      {"train-files", &options.train_files, "files to divide the training archive into", 1},
      {"validation-files", &options.validation_files, "the same of the validation archive", 1},
      {"stored", &options.stored, "do not compress: faster, and a third more room"},
  };
  DTNN_ASSIGN_OR_RETURN(const bool help, ParseToolFlags(arguments, flags));
  if (help) {
    std::cout << ToolHelp(kSummary, flags);
    return absl::OkStatus();
  }
  return ConvertImagenet(options, std::cout);
}

}  // namespace
}  // namespace dtnn

int main(int argc, char** argv) {
  return dtnn::RunProgram("convert_imagenet", argc, argv, "fewer threads need less", dtnn::Run);
}
