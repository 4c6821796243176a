// Prepares a trained model for inference in 8 bits.

#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "apps/flags/option_table.h"
#include "apps/flags/tool_flags.h"
#include "apps/help/tool_help.h"
#include "apps/printing/name_lists.h"
#include "apps/program/paths.h"
#include "apps/program/run_program.h"
#include "apps/quantize/run.h"
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

std::vector<OptionSpec> Flags(QuantizeFlags& options) {
  using enum OptionType;
  return {
      {.name = "calibrate",
       .type = kText,
       .help = "samples to find ranges with: a data set (training samples; accuracy is measured on "
               "test samples) or a folder of images; list shows the data sets",
       .field = &options.calibrate,
       .on_list = Action::kListDatasets},
      LikeLauncher("dataset-path", &options.dataset_path,
                   "folder or archive of the data set's files, as benchmark takes it"),
      {.name = "samples",
       .type = kInt,
       .help = "samples to find ranges with; some hundreds are enough",
       .unit = "samples",
       .range = kCountFrom1,
       .field = &options.samples},
      {.name = "method",
       .type = kWord,
       .help = "minmax: ranges hold all values; percentile: all but one of 10000 at each end; "
               "entropy: those with the least divergence between the distributions of values "
               "before and after",
       .words = "minmax,percentile,entropy",
       .field = &options.method},
      {.name = "largest-error",
       .type = kReal,
       .help = "a layer whose results differ by more in 8 bits stays in float32",
       .unit = "fraction",
       .range = {.low = 0, .high = 1e6},
       .field = &options.largest_error},
      {.name = "test-samples",
       .type = kInt,
       .help = "samples of the data set on which accuracy and speed are measured; 0: all",
       .unit = "samples",
       .range = kCountFrom0,
       .field = &options.test_samples},
      LikeLauncher("batch-size", &options.batch,
                   "samples per batch; larger batches are faster and need more memory"),
  };
}

absl::Status Run(const std::vector<std::string>& arguments) {
  DTNN_RETURN_IF_ERROR(EnterUserDirectory());
  QuantizeFlags options;
  std::vector<std::string> files;
  const std::vector<OptionSpec> flags = Flags(options);
  DTNN_ASSIGN_OR_RETURN(const ToolRequest request, ParseToolFlags(arguments, flags, &files));
  if (request.action == Action::kHelp) {
    std::cout << ToolHelp(kProgramText, flags, request.help_topic);
    return absl::OkStatus();
  }
  if (PrintList(request.action, std::cout)) return absl::OkStatus();
  if (files.size() != 2) {
    return UsageError("expected two files, a trained model and the one to write, not ",
                      files.size(), " (see --help)");
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
