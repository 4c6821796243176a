// Says what a trained network sees in image files.

#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "apps/name_lists.h"
#include "apps/paths.h"
#include "apps/predict/run.h"
#include "apps/run_program.h"
#include "apps/thread_waiting.h"
#include "apps/tool_flags.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

constexpr char kSummary[] =
    "predict --weights-and-bias-filename=FILE [--model=NAME] IMAGE_OR_FOLDER...\n\n"
    "Says of image files (JPEG, PNG), of which class they are and how likely that is. "
    "Normalisation\n"
    "must be that of training. Exit code 1 when one of the files cannot be read.";

absl::Status Run(const std::vector<std::string>& arguments) {
  DTNN_RETURN_IF_ERROR(EnterUserDirectory());
  PredictOptions options;
  std::vector<std::string> paths;
  const ToolFlag flags[] = {
      {"weights-and-bias-filename", &options.weights, ".npz or .safetensors, or a checkpoint"},
      {"model", &options.model, "its network; without: as the file says; list shows all"},
      {"weights-format", &options.weights_format, "layout of a file that does not tell"},
      {"loss-func", &options.loss_func, "of training: binary_cross_entropy where labels mix"},
      {"dataset", &options.dataset, "data set whose samples and classes the network has"},
      {"input-shape", &options.input_shape, "samples as channels,height,width"},
      {"class-names", &options.class_names, "file of a name per line, or folder of a data set"},
      {"crop", &options.crop, "keep this fraction of each side, in the middle"},
      {"normalize", &options.normalize, "(x + offset) * scale on every image"},
      {"normalize-offset", &options.normalize_offset, "that offset"},
      {"normalize-scale", &options.normalize_scale, "that scale"},
      {"mean", &options.mean, "of the training data, in 0 to 1: a number, or one per channel"},
      {"std", &options.std, "its standard deviation, likewise"},
      {"format", &options.format, "text, csv or json"},
      {"top", &options.top, "how many classes per file", 1},
      {"batch-size", &options.batch, "images at a time", 1},
  };
  DTNN_ASSIGN_OR_RETURN(const bool help, ParseToolFlags(arguments, flags, &paths));
  if (help) {
    std::cout << ToolHelp(kSummary, flags);
    return absl::OkStatus();
  }
  if (options.model == "list") {
    ListModels(std::cout);
    return absl::OkStatus();
  }
  return Predict(options, paths, std::cout, std::cerr);
}

}  // namespace
}  // namespace dtnn

int main(int argc, char** argv) {
  dtnn::LetWaitingThreadsSleep(argv);
  return dtnn::RunProgram("predict", argc, argv, "a smaller --batch-size needs less", dtnn::Run);
}
