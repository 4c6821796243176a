// Converts ImageNet, as TFRecord files or as its original archives, to .npz files.

#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "apps/convert_imagenet/run.h"
#include "apps/flags/tool_flags.h"
#include "apps/help/tool_help.h"
#include "apps/program/paths.h"
#include "apps/program/run_program.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

constexpr ProgramText kProgramText = {
    .name = "convert_imagenet",
    .does = "converts ImageNet's archives to .npz files",
    .text =
        "convert_imagenet --input=FOLDER --output=FOLDER\n"
        "\n"
        "Resizes ImageNet's images to 227 x 227 and writes them as .npz files for\n"
        "--dataset=imagenet. The input is TFRecord files (train-00000-of-01024, ...) or the\n"
        "original archives (ILSVRC2012_img_train.tar, ...). Run it again to continue after a\n"
        "stop. It writes OMP_NUM_THREADS files at a time, with 200 MB of memory each.",
};

constexpr Range kFiles = {.low = 1, .high = 99999};  // the names have five digits

absl::Status Run(const std::vector<std::string>& arguments) {
  DTNN_RETURN_IF_ERROR(EnterUserDirectory());
  ConvertOptions options;
  using enum OptionType;
  const OptionSpec flags[] = {
      {.name = "input",
       .type = kPath,
       .help = "folder with the TFRecord files or archives",
       .field = &options.input},
      {.name = "output",
       .type = kPath,
       .help = "folder for the .npz files; created if it is missing",
       .field = &options.output},
      {.name = "part",
       .type = kWord,
       .help = "split to convert",
       .words = "all,train,validation",
       .field = &options.part},
      {.name = "train-files",
       .type = kInt,
       .help = "number of .npz files to make from the training archive",
       .unit = "files",
       .range = kFiles,
       .field = &options.train_files},
      {.name = "validation-files",
       .type = kInt,
       .help = "number of .npz files to make from the validation archive",
       .unit = "files",
       .range = kFiles,
       .field = &options.validation_files},
      {.name = "stored",
       .type = kBool,
       .help = "do not compress: faster, but takes a third more disk space",
       .field = &options.stored},
  };
  DTNN_ASSIGN_OR_RETURN(const ToolRequest request, ParseToolFlags(arguments, flags));
  if (request.action == Action::kHelp) {
    std::cout << ToolHelp(kProgramText, flags, request.help_topic);
    return absl::OkStatus();
  }
  return ConvertImagenet(options, std::cout);
}

}  // namespace
}  // namespace dtnn

int main(int argc, char** argv) {
  return dtnn::RunProgram(dtnn::kProgramText.name, argc, argv,
                          "use fewer threads (OMP_NUM_THREADS)", dtnn::Run);
}
