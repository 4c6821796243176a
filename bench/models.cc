// bazel run //bench:models -- [--models=a,b] [--batch=64] [--seconds=3] [--format=NCHW]
//                             [--math-mode=bf16|int8] [--device=cuda] [--json=FILE]
//
// Trains and evaluates whole networks on random data and prints, per network, samples/s and
// GFLOP/s; on the CPU also the share of this machine's FMA peak, measured just before and after.
// With --json, the same as one JSON object per line, appended.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "apps/flags/tool_flags.h"
#include "apps/help/tool_help.h"
#include "apps/printing/name_lists.h"
#include "apps/program/run_program.h"
#include "bench/gpu_profile.h"
#include "bench/gpu_software.h"
#include "bench/measured_networks.h"
#include "bench/model_speed.h"
#include "kernels/peak/peak.h"
#include "kernels/simd/simd_target.h"
#include "tensor/device.h"
#include "tensor/dtype.h"
#include "tensor/status_macros.h"
#include "tensor/threads/parallel_for.h"
#include "tensor/threads/processor_name.h"

namespace dtnn {
namespace {

constexpr ProgramText kProgramText = {.name = "models",
                                      .does = "measures networks",
                                      .text =
                                          "models [--models=NAME,...]\n\nMeasures how fast "
                                          "networks train and predict, on random data."};

struct ModelsOptions {
  MeasuredNetworks network = {.models = "simplemlp,simplecnn,simplecnn8,vgg16_cifar10",
                              .math_mode = "fp32"};
  double seconds = 3;
  std::string device = "cpu";
  std::vector<std::string> phases = {"train", "infer"};
  bool graphs = true, profile_kernels = false;

  Device Place() const {
    return device == "cuda"        ? Device::Cuda(0)
           : device == "simulated" ? Device::Simulated(0)
                                   : Device::Cpu();
  }
};

absl::Status AppendJson(const ModelsOptions& options, const std::string& model,
                        const ModelSpeed& speed, std::string_view where) {
  const std::string line = absl::StrFormat(
      R"({"model":"%s","batch":%d,"format":"%s","math_mode":"%s",%s,)"
      R"("train":%.1f,"infer":%.1f,"train_gflops":%.1f,"infer_gflops":%.1f,)"
      R"("memory_peak_bytes":%.0f,"memory_planned_bytes":%.0f,"prepare_seconds":%.2f})",
      model, options.network.batch, options.network.format, options.network.math_mode, where,
      speed.train_samples_per_second, speed.infer_samples_per_second, speed.train_gflops,
      speed.infer_gflops, speed.memory_peak_bytes, speed.memory_planned_bytes,
      speed.prepare_seconds);
  return options.network.Append(line + "\n");
}

ModelRunOptions RunOf(const ModelsOptions& options, const std::string& model) {
  ModelRunOptions run = options.network.RunOf(model);
  run.device = options.Place();
  run.graphs = options.graphs;
  return run;
}

absl::StatusOr<ModelSpeed> Speed(const ModelsOptions& options, const std::string& model) {
  const ModelRunOptions run = RunOf(options, model);
  return MeasureModel({.run = run,
                       .seconds = options.seconds,
                       .training = !run.int8 && std::ranges::count(options.phases, "train") > 0,
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
  std::printf("%s, batch %d, %s, %s\n%s", model.c_str(), int(run.batch),
              options.network.math_mode.c_str(), options.network.format.c_str(),
              ToTable(profile).c_str());
  return options.network.Append(ToJsonLines(profile, run));
}

absl::Status Run(const std::vector<std::string>& arguments) {
  using enum OptionType;
  ModelsOptions options;
  std::vector<OptionSpec> flags = options.network.Flags(/*int8=*/true);
  const OptionSpec own[] = {
      {.name = "seconds",
       .type = kReal,
       .help = "how long training and inference are measured, each",
       .unit = "seconds",
       .range = {.low = 0, .high = 1e6},
       .field = &options.seconds},
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
  };
  flags.insert(flags.end(), std::begin(own), std::end(own));
  DTNN_ASSIGN_OR_RETURN(const ToolRequest request, ParseToolFlags(arguments, flags));
  if (request.action == Action::kHelp) {
    std::cout << ToolHelp(kProgramText, flags, request.help_topic);
    return absl::OkStatus();
  }
  if (PrintList(request.action, std::cout)) return absl::OkStatus();
  DTNN_ASSIGN_OR_RETURN(const std::vector<std::string> models, options.network.Names());
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
    for (const std::string& model : models) {
      DTNN_RETURN_IF_ERROR(Profile(options, model));
    }
    return absl::OkStatus();
  }
  std::printf("%-18s %12s %12s %9s %7s %9s %7s %9s\n", "model", "train/s", "infer/s", "train GF/s",
              "peak", "infer GF/s", "peak", "memory");
  for (const std::string& model : models) {
    DTNN_RETURN_IF_ERROR(on_cpu ? MeasureOnCpu(options, model) : MeasureOnGpu(options, model, gpu));
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace dtnn

int main(int argc, char** argv) {
  return dtnn::RunProgram("models", argc, argv, "a smaller --batch needs less", dtnn::Run);
}
