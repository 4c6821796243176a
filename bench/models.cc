// bazel run //bench:models -- [--models=a,b] [--batch=64] [--seconds=3] [--format=NCHW]
//                             [--math-mode=bf16] [--device=cuda] [--json=FILE]
//
// Trains and evaluates whole networks on random data and prints, per network, samples/s and
// GFLOP/s; on the CPU also the share of this machine's FMA peak, measured just before and after.
// With --json, the same as one JSON object per line, appended.

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
#include "bench/gpu_profile.h"
#include "bench/gpu_software.h"
#include "bench/model_speed.h"
#include "kernels/math_mode.h"
#include "kernels/peak/peak.h"
#include "kernels/simd_target.h"
#include "tensor/device.h"
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
  std::string format = "NHWC", math_mode = "fp32", device = "cpu", json;
  std::vector<std::string> phases = {"train", "infer"};
  bool graphs = true, profile_kernels = false;

  Device Place() const {
    return device == "cuda"        ? Device::Cuda(0)
           : device == "simulated" ? Device::Simulated(0)
                                   : Device::Cpu();
  }
};

absl::Status Append(const std::string& path, std::string_view lines) {
  std::ofstream json(path, std::ios::app);
  json << lines;
  if (json.flush()) return absl::OkStatus();
  return absl::PermissionDeniedError(StrCat(path, ": cannot be written"));
}

absl::Status AppendJson(const ModelsOptions& options, const std::string& model,
                        const ModelSpeed& speed, std::string_view where) {
  const std::string line = absl::StrFormat(
      R"({"model":"%s","batch":%d,"format":"%s","math_mode":"%s",%s,)"
      R"("train":%.1f,"infer":%.1f,"train_gflops":%.1f,"infer_gflops":%.1f,)"
      R"("memory_peak_bytes":%.0f,"memory_planned_bytes":%.0f,"prepare_seconds":%.2f})",
      model, options.batch, options.format, options.math_mode, where,
      speed.train_samples_per_second, speed.infer_samples_per_second, speed.train_gflops,
      speed.infer_gflops, speed.memory_peak_bytes, speed.memory_planned_bytes,
      speed.prepare_seconds);
  return Append(options.json, line + "\n");
}

ModelRunOptions RunOf(const ModelsOptions& options, const std::string& model) {
  return {.model = model,
          .batch = options.batch,
          .format = *ParseTensorFormat(options.format),
          .math_mode = *ParseMathMode(options.math_mode),
          .device = options.Place(),
          .graphs = options.graphs};
}

absl::StatusOr<ModelSpeed> Speed(const ModelsOptions& options, const std::string& model) {
  return MeasureModel({.run = RunOf(options, model),
                       .seconds = options.seconds,
                       .training = std::ranges::count(options.phases, "train") > 0,
                       .inference = std::ranges::count(options.phases, "infer") > 0});
}

absl::Status MeasureOnCpu(const ModelsOptions& options, const std::string& model) {
  const int threads = NumThreads();
  const double before = MeasureFmaPeakGflops(threads, DType::kFloat32);
  DTNN_ASSIGN_OR_RETURN(const ModelSpeed speed, Speed(options, model));
  const double after = MeasureFmaPeakGflops(threads, DType::kFloat32);
  const double peak = std::max(before, after);
  std::printf("%-18s %12.1f %12.1f %9.1f %6.1f%% %9.1f %6.1f%% %6.1f MB\n", model.c_str(),
              speed.train_samples_per_second, speed.infer_samples_per_second, speed.train_gflops,
              100 * speed.train_gflops / peak, speed.infer_gflops, 100 * speed.infer_gflops / peak,
              speed.memory_peak_bytes / 1e6);
  if (options.json.empty()) return absl::OkStatus();
  return AppendJson(
      options, model, speed,
      absl::StrFormat(
          R"("threads":%d,"cpu":"%s","simd":"%s","peak_gflops_before":%.1f,"peak_gflops_after":%.1f)",
          threads, ProcessorName(), SimdTarget(), before, after));
}

absl::Status MeasureOnGpu(const ModelsOptions& options, const std::string& model,
                          const GpuSoftware& gpu) {
  DTNN_ASSIGN_OR_RETURN(const ModelSpeed speed, Speed(options, model));
  std::printf("%-18s %12.1f %12.1f %9.1f %7s %9.1f %7s %6.1f MB\n", model.c_str(),
              speed.train_samples_per_second, speed.infer_samples_per_second, speed.train_gflops,
              "", speed.infer_gflops, "", speed.memory_peak_bytes / 1e6);
  std::printf("  prepared in %.2f s\n", speed.prepare_seconds);
  if (!speed.not_captured.empty()) {
    std::printf("  steps run call by call: %s\n", speed.not_captured.c_str());
  }
  std::fflush(stdout);
  if (options.json.empty()) return absl::OkStatus();
  return AppendJson(
      options, model, speed,
      absl::StrFormat(
          R"("card":"%s","driver":"%s","cuda":"%s","cudnn":"%s","cublaslt":"%s","graphs":%s)",
          gpu.card, gpu.driver, gpu.cuda, gpu.cudnn, gpu.cublaslt,
          options.graphs && speed.not_captured.empty() ? "true" : "false"));
}

absl::Status Profile(const ModelsOptions& options, const std::string& model) {
  const ModelRunOptions run = RunOf(options, model);
  DTNN_ASSIGN_OR_RETURN(const KernelProfile profile, ProfileStep(run));
  std::printf("%s, batch %d, %s, %s\n%s", model.c_str(), int(options.batch),
              options.math_mode.c_str(), options.format.c_str(), ToTable(profile).c_str());
  return options.json.empty() ? absl::OkStatus() : Append(options.json, ToJsonLines(profile, run));
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
       .words = "fp32,tf32,bf16,fp16",
       .field = &options.math_mode},
      {.name = "device",
       .type = kWord,
       .help = "where; simulated is for tests",
       .words = "cpu,cuda,simulated",
       .field = &options.device},
      {.name = "phases",
       .type = kWords,
       .help = "what to measure:",
       .words = "train,infer",
       .field = &options.phases},
      {.name = "enable-cuda-graphs",
       .type = kBool,
       .help = "on a GPU: replay steps as CUDA graphs",
       .field = &options.graphs},
      {.name = "profile-kernels",
       .type = kBool,
       .help = "on a GPU: instead, the kernels of one training step, with their times and bytes",
       .field = &options.profile_kernels},
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
  const bool on_cpu = options.device == "cpu";
  GpuSoftware gpu;
  if (on_cpu) {
    std::printf("%s, %d threads, SIMD %s\n", ProcessorName().c_str(), NumThreads(),
                SimdTarget().c_str());
  } else {
    DTNN_ASSIGN_OR_RETURN(gpu, DescribeGpu(options.Place()));
    std::printf("%s, driver %s, CUDA %s, cuDNN %s, cuBLASLt %s\n", gpu.card.c_str(),
                gpu.driver.c_str(), gpu.cuda.c_str(), gpu.cudnn.c_str(), gpu.cublaslt.c_str());
  }
  if (options.profile_kernels) {
    if (on_cpu) {
      return absl::InvalidArgumentError(
          "--profile-kernels: needs --device=cuda or --device=simulated; the CPU's "
          "layers are in the launcher's --profile");
    }
    for (const std::string_view model : models) {
      DTNN_RETURN_IF_ERROR(Profile(options, std::string(model)));
    }
    return absl::OkStatus();
  }
  std::printf("%-18s %12s %12s %9s %7s %9s %7s %9s\n", "model", "train/s", "infer/s", "train GF/s",
              "peak", "infer GF/s", "peak", "memory");
  for (const std::string_view model : models) {
    DTNN_RETURN_IF_ERROR(on_cpu ? MeasureOnCpu(options, std::string(model))
                                : MeasureOnGpu(options, std::string(model), gpu));
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace dtnn

int main(int argc, char** argv) {
  return dtnn::RunProgram("models", argc, argv, "a smaller --batch needs less", dtnn::Run);
}
