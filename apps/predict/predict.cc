// Says what a trained network sees in image files.

#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "apps/flags/option_table.h"
#include "apps/flags/tool_flags.h"
#include "apps/help/tool_help.h"
#include "apps/predict/run.h"
#include "apps/printing/name_lists.h"
#include "apps/program/image_flags.h"
#include "apps/program/paths.h"
#include "apps/program/run_program.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

constexpr ProgramText kProgramText = {
    .name = "predict",
    .does = "classifies images with a trained network",
    .text =
        "predict --model-file=FILE IMAGE_OR_FOLDER...\n"
        "predict --weights-and-bias-filename=FILE [--model=NAME] IMAGE_OR_FOLDER...\n"
        "\n"
        "Predicts the class of image files (JPEG, PNG), with its probability. A network of\n"
        "labels that may occur together gives all labels above 50 %, one of values the values.\n"
        "A file that training saved (--save-model, --model-dir, --checkpoint-dir) contains\n"
        "everything else. Files of weights alone, such as those of older versions, need\n"
        "options. With --mask-dir, a network that gives a class for each pixel writes a mask of\n"
        "each image. Exit code 1 when a file cannot be read or its answer is NaN or infinite.\n"
        "\n"
        "Images may be grey or in colour whatever the network takes, have a palette, alpha\n"
        "(which is dropped) or 16 bits: docs/weights-and-checkpoints.md.",
    .files = true,
};

std::vector<OptionSpec> Flags(PredictOptions& options) {
  using enum OptionType;
  return {
      {.name = "model-file",
       .type = kPath,
       .help = "model that training saved: network, weights, preprocessing and classes",
       .field = &options.model_file},
      LikeLauncher("weights-and-bias-filename", &options.weights,
                   "weights of the network: .npz, .safetensors or a checkpoint"),
      LikeLauncher("model", &options.model,
                   "network of the weights; if not given, as the file says; --model=list shows "
                   "all"),
      LikeLauncher("weights-format", &options.weights_format,
                   "layout of a weights file that does not state it"),
      {.name = "loss-func",
       .type = kWord,
       .help = "loss that the network was trained with, for a file that does not contain its "
               "network; decides the last activation; if not given, categorical_cross_entropy",
       .words = LossWords(),
       .field = &options.loss_func},
      LikeLauncher(
          "dataset", &options.dataset,
          "data set that the network was trained on, for a file that does not contain its network: "
          "image size and classes"),
      InputShapeOption(options.input_shape,
                       "size of the network's input, for a file that does not contain its network"),
      ClassNamesOption(
          options.class_names,
          "file with a class name per line, or the folder of --dataset=folder, for a file that "
          "does not name its classes"),
      CropOption(options.crop,
                 "fraction of each side that is kept, in the middle of the image; 1: all of it; 0: "
                 "as in training"),
      LikeLauncher("normalize", &options.normalize,
                   "(x + --normalize-offset) * --normalize-scale for every value x of an image"),
      LikeLauncher("normalize-offset", &options.normalize_offset),
      LikeLauncher("normalize-scale", &options.normalize_scale),
      MeanOption(options.mean),
      StdOption(options.std),
      {.name = "format",
       .type = kWord,
       .help = "format of the output",
       .words = "text,csv,json",
       .field = &options.format},
      {.name = "top",
       .type = kInt,
       .help =
           "most probable classes or labels that are printed per file; 0: one class, or all labels "
           "above 50 %",
       .unit = "classes",
       .range = kCountFrom0,
       .field = &options.top},
      {.name = "mask-dir",
       .type = kPath,
       .help = "folder for a mask of each image, of a network that gives a class for each pixel: a "
               "PNG with a palette and as large as the image, whose values are classes",
       .field = &options.mask_dir},
      LikeLauncher("batch-size", &options.batch,
                   "images per batch; larger batches are faster and need more memory"),
      {.name = "math-mode",
       .type = kWord,
       .help = "number types to compute with; bf16 and int8 are usually faster; int8 needs a file "
               "that quantize wrote",
       .words = "fp32,bf16,int8",
       .field = &options.math_mode},
  };
}

absl::Status Run(const std::vector<std::string>& arguments) {
  DTNN_RETURN_IF_ERROR(EnterUserDirectory());
  PredictOptions options;
  std::vector<std::string> paths;
  const std::vector<OptionSpec> flags = Flags(options);
  DTNN_ASSIGN_OR_RETURN(const ToolRequest request, ParseToolFlags(arguments, flags, &paths));
  if (request.action == Action::kHelp) {
    std::cout << ToolHelp(kProgramText, flags, request.help_topic);
    return absl::OkStatus();
  }
  if (PrintList(request.action, std::cout)) return absl::OkStatus();
  return Predict(options, paths, std::cout, std::cerr);
}

}  // namespace
}  // namespace dtnn

int main(int argc, char** argv) {
  return dtnn::RunProgram(dtnn::kProgramText.name, argc, argv, "use a smaller --batch-size",
                          dtnn::Run);
}
