// bazel run //bench:models -- [--models=a,b] [--batch=64] [--seconds=3] [--format=NCHW]
//                             [--json=FILE]
//
// Trains and evaluates whole networks on random data and prints, per network, samples/s, GFLOP/s
// and the share of this machine's FMA peak, measured just before and after. With --json, the same
// as one JSON object per line, appended.

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "bench/model_speed.h"
#include "bench/peak.h"
#include "kernels/simd_target.h"
#include "tensor/dtype.h"
#include "tensor/format.h"
#include "tensor/parallel_for.h"

ABSL_FLAG(std::string, models, "simplemlp,simplecnn,simplecnn8,vgg16_cifar10",
          "networks, by comma");
ABSL_FLAG(int64_t, batch, 64, "samples per step");
ABSL_FLAG(double, seconds, 3, "measured time per phase");
ABSL_FLAG(std::string, format, "NHWC", "NHWC or NCHW");
ABSL_FLAG(std::string, json, "", "file to append JSON lines to");

namespace {

std::string CpuName() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  std::string line;
  while (std::getline(cpuinfo, line)) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

}  // namespace

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  const auto format = dtnn::ParseTensorFormat(absl::GetFlag(FLAGS_format));
  if (!format) {
    std::fprintf(stderr, "models: --format takes NHWC or NCHW\n");
    return 2;
  }
  if (absl::GetFlag(FLAGS_batch) < 1 || !(absl::GetFlag(FLAGS_seconds) >= 0)) {
    std::fprintf(stderr, "models: --batch must be at least 1 and --seconds 0 or more\n");
    return 2;
  }
  const int threads = dtnn::NumThreads();
  std::printf("%s, %d threads, SIMD %s\n", CpuName().c_str(), threads, dtnn::SimdTarget().c_str());
  std::printf("%-16s %12s %12s %9s %7s %9s %7s %9s\n", "model", "train/s", "infer/s", "train GF/s",
              "peak", "infer GF/s", "peak", "memory");
  for (const std::string& model :
       std::vector<std::string>(absl::StrSplit(absl::GetFlag(FLAGS_models), ","))) {
    const double before = dtnn::MeasureFmaPeakGflops(threads, dtnn::DType::kFloat32);
    const absl::StatusOr<dtnn::ModelSpeed> speed =
        dtnn::MeasureModel({.model = model,
                            .batch = absl::GetFlag(FLAGS_batch),
                            .format = *format,
                            .seconds = absl::GetFlag(FLAGS_seconds)});
    if (!speed.ok()) {
      std::fprintf(stderr, "models: %s\n", std::string(speed.status().message()).c_str());
      return 1;
    }
    const double after = dtnn::MeasureFmaPeakGflops(threads, dtnn::DType::kFloat32);
    const double peak = std::max(before, after);
    std::printf("%-16s %12.1f %12.1f %9.1f %6.1f%% %9.1f %6.1f%% %6.1f MB\n", model.c_str(),
                speed->train_samples_per_second, speed->infer_samples_per_second,
                speed->train_gflops, 100 * speed->train_gflops / peak, speed->infer_gflops,
                100 * speed->infer_gflops / peak, speed->memory_peak_bytes / 1e6);
    if (absl::GetFlag(FLAGS_json).empty()) continue;
    std::ofstream json(absl::GetFlag(FLAGS_json), std::ios::app);
    json << absl::StrFormat(
        R"({"model":"%s","batch":%d,"format":"%s","threads":%d,"cpu":"%s","simd":"%s",)"
        R"("peak_gflops_before":%.1f,"peak_gflops_after":%.1f,"train":%.1f,"infer":%.1f,)"
        R"("train_gflops":%.1f,"infer_gflops":%.1f,"memory_peak_bytes":%.0f,)"
        R"("memory_planned_bytes":%.0f})",
        model, absl::GetFlag(FLAGS_batch), absl::GetFlag(FLAGS_format), threads, CpuName(),
        dtnn::SimdTarget(), before, after, speed->train_samples_per_second,
        speed->infer_samples_per_second, speed->train_gflops, speed->infer_gflops,
        speed->memory_peak_bytes, speed->memory_planned_bytes);
    json << "\n";
    if (!json.flush()) {
      std::fprintf(stderr, "models: cannot write %s\n", absl::GetFlag(FLAGS_json).c_str());
      return 1;
    }
  }
  return 0;
}
