// bazel run //bench:gpu_model -- [--models=a,b] [--batch=128] [--math-mode=bf16] [--format=NHWC]
//                                [--json=FILE]
//
// What a training step on a GPU moves through its memory, kernel by kernel, and how long it would
// take on an H100: predicted, on a machine without one (step_table.h).

#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "apps/flags/tool_flags.h"
#include "apps/flags/value.h"
#include "apps/printing/name_lists.h"
#include "apps/program/run_program.h"
#include "bench/step_table.h"
#include "kernels/math_mode.h"
#include "tensor/format.h"
#include "tensor/status_macros.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

absl::Status Run(const std::vector<std::string>& arguments) {
  using enum OptionType;
  std::string models = "resnet50_imagenet", format = "NHWC", math_mode = "bf16", json;
  int64_t batch = 128;
  const OptionSpec flags[] = {
      {.name = "models",
       .type = kText,
       .help = "networks, separated by commas; --models=list shows all",
       .field = &models,
       .on_list = Action::kListModels},
      {.name = "batch",
       .type = kInt,
       .help = "samples per step",
       .unit = "samples",
       .range = {.low = 1, .high = 1e6},
       .field = &batch},
      {.name = "math-mode",
       .type = kWord,
       .help = "number types to compute with",
       .words = "fp32,tf32,bf16,fp16",
       .field = &math_mode},
      {.name = "format",
       .type = kWord,
       .help = "order of image axes",
       .words = "NHWC,NCHW",
       .field = &format},
      {.name = "json",
       .type = kPath,
       .help = "append a JSON line per network to this file",
       .field = &json},
  };
  DTNN_ASSIGN_OR_RETURN(const ToolRequest request, ParseToolFlags(arguments, flags));
  if (request.action == Action::kHelp) {
    std::cout << ToolHelp(
        "gpu_model [--models=NAME,...]\n\nPredicts what a training step on a GPU reads, writes and "
        "takes, kernel by kernel, without one.",
        flags, request.help_topic);
    return absl::OkStatus();
  }
  if (PrintList(request.action, std::cout)) return absl::OkStatus();
  const std::vector<std::string_view> names = SplitList(models);
  for (const std::string_view name : names) DTNN_RETURN_IF_ERROR(CheckModelName(name, "models"));
  for (const std::string_view name : names) {
    const ModelRunOptions options = {.model = std::string(name),
                                     .batch = batch,
                                     .format = *ParseTensorFormat(format),
                                     .math_mode = *ParseMathMode(math_mode)};
    DTNN_ASSIGN_OR_RETURN(const StepTable table, TableOfStep(options));
    std::printf("%s, batch %d, %s, %s\n%s", options.model.c_str(), int(batch), math_mode.c_str(),
                format.c_str(), ToText(table).c_str());
    if (json.empty()) continue;
    std::ofstream file(json, std::ios::app);
    file << ToJson(table, options) << "\n";
    if (!file.flush()) return absl::PermissionDeniedError(StrCat(json, ": cannot be written"));
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace dtnn

int main(int argc, char** argv) {
  return dtnn::RunProgram("gpu_model", argc, argv, "a smaller --batch needs less", dtnn::Run);
}
