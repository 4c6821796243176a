// Says what a trained network sees in image files.

#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "apps/flags/option_table.h"
#include "apps/flags/tool_flags.h"
#include "apps/predict/run.h"
#include "apps/printing/name_lists.h"
#include "apps/program/paths.h"
#include "apps/program/run_program.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

constexpr char kSummary[] =
    "predict --weights-and-bias-filename=FILE [--model=NAME] IMAGE_OR_FOLDER...\n\n"
    "Says of image files (JPEG, PNG), of which class they are and how likely that is. Images are\n"
    "normalised as the file of weights says, or as flags say. Exit code 1 when a file cannot be\n"
    "read or has no finite answer.";

std::vector<OptionSpec> Flags(PredictOptions& options) {
  using enum OptionType;
  constexpr Range kFraction = {.low = 0, .high = 1, .low_open = true};
  constexpr Range kNumber = {.low = -1e30, .high = 1e30};
  constexpr Range kScale = {.low = -1e30, .high = 1e30, .hole = 1e-30};
  constexpr Range kDeviation = {.low = 1e-30, .high = 1e30};
  return {
      LikeLauncher("weights-and-bias-filename", &options.weights,
                   ".npz or .safetensors, or a checkpoint"),
      LikeLauncher("model", &options.model,
                   "its network; without: as the file says; list shows "
                   "all"),
      LikeLauncher("weights-format", &options.weights_format,
                   "layout of a file that does not tell"),
      {.name = "loss-func",
       .type = kWord,
       .help = "of training: binary_cross_entropy where labels mix",
       .words = LossWords(),
       .field = &options.loss_func},
      LikeLauncher("dataset", &options.dataset,
                   "data set whose samples and classes the network has"),
      {.name = "input-shape",
       .type = kInts,
       .help = "samples as channels,height,width",
       .range = kSideRange,
       .field = &options.input_shape},
      {.name = "class-names",
       .type = kPath,
       .help = "file of a name per line, or folder of a data set",
       .field = &options.class_names},
      {.name = "crop",
       .type = kReal,
       .help = "keep this fraction of each side, in the middle",
       .range = kFraction,
       .field = &options.crop},
      LikeLauncher("normalize", &options.normalize, "(x + offset) * scale on every image"),
      {.name = "normalize-offset",
       .type = kReals,
       .help = "that offset: a number, or one per channel",
       .range = kNumber,
       .field = &options.normalize_offset},
      {.name = "normalize-scale",
       .type = kReals,
       .help = "that scale, likewise",
       .range = kScale,
       .field = &options.normalize_scale},
      {.name = "mean",
       .type = kReals,
       .help = "of the training data, in 0 to 1: a number, or one per channel",
       .range = kNumber,
       .field = &options.mean},
      {.name = "std",
       .type = kReals,
       .help = "its standard deviation, likewise",
       .range = kDeviation,
       .field = &options.std},
      {.name = "format",
       .type = kWord,
       .help = "of the answers",
       .words = "text,csv,json",
       .field = &options.format},
      {.name = "top",
       .type = kInt,
       .help = "how many classes per file",
       .range = kCountFrom1,
       .field = &options.top},
      LikeLauncher("batch-size", &options.batch, "images at a time"),
  };
}

absl::Status Run(const std::vector<std::string>& arguments) {
  DTNN_RETURN_IF_ERROR(EnterUserDirectory());
  PredictOptions options;
  std::vector<std::string> paths;
  const std::vector<OptionSpec> flags = Flags(options);
  DTNN_ASSIGN_OR_RETURN(const Action action, ParseToolFlags(arguments, flags, &paths));
  switch (action) {
    case Action::kHelp:
      std::cout << ToolHelp(kSummary, flags);
      return absl::OkStatus();
    case Action::kListModels:
      ListModels(std::cout);
      return absl::OkStatus();
    case Action::kListDatasets:
      ListDatasets(std::cout);
      return absl::OkStatus();
    case Action::kListTransforms:  // which no option of this program asks for
    case Action::kRun:
      break;
  }
  return Predict(options, paths, std::cout, std::cerr);
}

}  // namespace
}  // namespace dtnn

int main(int argc, char** argv) {
  return dtnn::RunProgram("predict", argc, argv, "a smaller --batch-size needs less", dtnn::Run);
}
