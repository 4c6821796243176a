// bazel run //bench:models -- [--models=a,b] [--batch=64] [--seconds=3] [--format=NCHW]
//                             [--math-mode=bf16] [--json=FILE]
//
// Trains and evaluates whole networks on random data and prints, per network, samples/s, GFLOP/s
// and the share of this machine's FMA peak, measured just before and after. With --json, the same
// as one JSON object per line, appended.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "apps/flags/tool_flags.h"
#include "apps/flags/value.h"
#include "apps/printing/name_lists.h"
#include "apps/program/run_program.h"
#include "bench/model_speed.h"
#include "kernels/math_mode.h"
#include "kernels/peak/peak.h"
#include "kernels/simd_target.h"
#include "tensor/dtype.h"
#include "tensor/format.h"
#include "tensor/status_macros.h"
#include "tensor/text/str_cat.h"
#include "tensor/threads/parallel_for.h"
#include "tensor/threads/processor_name.h"

namespace dtnn {
namespace {

struct ModelsOptions {
  std::string models = "simplemlp,simplecnn,simplecnn8,vgg16_cifar10";
  int64_t batch = 64;
  double seconds = 3;
  std::string format = "NHWC", math_mode = "fp32", json;
};

absl::Status AppendJson(const ModelsOptions& options, const std::string& model,
                        const ModelSpeed& speed, double peak_before, double peak_after) {
  std::ofstream json(options.json, std::ios::app);
  json << absl::StrFormat(
      R"({"model":"%s","batch":%d,"format":"%s","math_mode":"%s","threads":%d,"cpu":"%s",)"
      R"("simd":"%s",)"
      R"("peak_gflops_before":%.1f,"peak_gflops_after":%.1f,"train":%.1f,"infer":%.1f,)"
      R"("train_gflops":%.1f,"infer_gflops":%.1f,"memory_peak_bytes":%.0f,)"
      R"("memory_planned_bytes":%.0f})",
      model, options.batch, options.format, options.math_mode, NumThreads(), ProcessorName(),
      SimdTarget(), peak_before, peak_after, speed.train_samples_per_second,
      speed.infer_samples_per_second, speed.train_gflops, speed.infer_gflops,
      speed.memory_peak_bytes, speed.memory_planned_bytes);
  json << "\n";
  if (json.flush()) return absl::OkStatus();
  return absl::PermissionDeniedError(StrCat(options.json, ": cannot be written"));
}

absl::Status Measure(const ModelsOptions& options, const std::string& model) {
  const int threads = NumThreads();
  const double before = MeasureFmaPeakGflops(threads, DType::kFloat32);
  DTNN_ASSIGN_OR_RETURN(const ModelSpeed speed,
                        MeasureModel({.model = model,
                                      .batch = options.batch,
                                      .format = *ParseTensorFormat(options.format),
                                      .math_mode = *ParseMathMode(options.math_mode),
                                      .seconds = options.seconds}));
  const double after = MeasureFmaPeakGflops(threads, DType::kFloat32);
  const double peak = std::max(before, after);
  std::printf("%-16s %12.1f %12.1f %9.1f %6.1f%% %9.1f %6.1f%% %6.1f MB\n", model.c_str(),
              speed.train_samples_per_second, speed.infer_samples_per_second, speed.train_gflops,
              100 * speed.train_gflops / peak, speed.infer_gflops, 100 * speed.infer_gflops / peak,
              speed.memory_peak_bytes / 1e6);
  return options.json.empty() ? absl::OkStatus() : AppendJson(options, model, speed, before, after);
}

absl::Status Run(const std::vector<std::string>& arguments) {
  using enum OptionType;
  ModelsOptions options;
  const OptionSpec flags[] = {
      {.name = "models",
       .type = kText,
       .help = "networks to measure, separated by commas; --models=list shows all",
       .field = &options.models,
       .on_list = Action::kListModels},
      {.name = "batch",
       .type = kInt,
       .help = "samples per step",
       .unit = "samples",
       .range = {.low = 1, .high = 1e6},
       .field = &options.batch},
      {.name = "seconds",
       .type = kReal,
       .help = "how long training and inference are measured, each",
       .unit = "seconds",
       .range = {.low = 0, .high = 1e6},
       .field = &options.seconds},
      {.name = "format",
       .type = kWord,
       .help = "order of image axes",
       .words = "NHWC,NCHW",
       .field = &options.format},
      {.name = "math-mode",
       .type = kWord,
       .help = "number types to compute with",
       .words = "fp32,bf16",
       .field = &options.math_mode},
      {.name = "json",
       .type = kPath,
       .help = "append a JSON line per network to this file",
       .field = &options.json},
  };
  DTNN_ASSIGN_OR_RETURN(const ToolRequest request, ParseToolFlags(arguments, flags));
  if (request.action == Action::kHelp) {
    std::cout << ToolHelp(
        "models [--models=NAME,...]\n\nMeasures how fast networks train "
        "and predict, on random data.",
        flags, request.help_topic);
    return absl::OkStatus();
  }
  if (PrintList(request.action, std::cout)) return absl::OkStatus();
  const std::vector<std::string_view> models = SplitList(options.models);
  for (const std::string_view model : models) {
    DTNN_RETURN_IF_ERROR(CheckModelName(model, "models"));
  }
  std::printf("%s, %d threads, SIMD %s\n", ProcessorName().c_str(), NumThreads(),
              SimdTarget().c_str());
  std::printf("%-16s %12s %12s %9s %7s %9s %7s %9s\n", "model", "train/s", "infer/s", "train GF/s",
              "peak", "infer GF/s", "peak", "memory");
  for (const std::string_view model : models) {
    DTNN_RETURN_IF_ERROR(Measure(options, std::string(model)));
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace dtnn

int main(int argc, char** argv) {
  return dtnn::RunProgram("models", argc, argv, "a smaller --batch needs less", dtnn::Run);
}
