#include "bench/model_speed.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <optional>
#include <vector>

#include "kernels/device/free_memory.h"
#include "tensor/status_macros.h"
#include "tensor/stopwatch.h"

namespace dtnn {
namespace {

// Samples per second: the median of eight blocks of about `seconds` / 8. How many steps that are is
// fixed before: a GPU takes more of them than it computes in that time.
absl::StatusOr<double> Rate(ModelRun& run, int64_t batch, double seconds,
                            const std::function<absl::Status()>& step) {
  const auto time = [&](int64_t steps) -> absl::StatusOr<double> {
    const Stopwatch watch;
    for (int64_t i = 0; i < steps; ++i) DTNN_RETURN_IF_ERROR(step());
    DTNN_RETURN_IF_ERROR(run.Synchronize());
    return watch.seconds();
  };
  DTNN_RETURN_IF_ERROR(time(3).status());
  DTNN_ASSIGN_OR_RETURN(const double two, time(2));
  const int64_t steps = std::max<int64_t>(1, int64_t(std::ceil(seconds / 8 / (two / 2))));
  std::vector<double> rates;
  for (int block = 0; block < 8; ++block) {
    DTNN_ASSIGN_OR_RETURN(const double elapsed, time(steps));
    rates.push_back(double(steps * batch) / elapsed);
  }
  std::nth_element(rates.begin(), rates.begin() + 4, rates.end());
  return rates[4];
}

// The largest resident size since ResetPeakMemory, in bytes; 0 where the system does not tell.
double PeakMemory() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    if (word == "VmHWM:") {
      double kib = 0;
      status >> kib;
      return kib * 1024;
    }
  }
  return 0;
}

void ResetPeakMemory() { std::ofstream("/proc/self/clear_refs") << "5"; }

}  // namespace

absl::StatusOr<ModelSpeed> MeasureModel(const ModelSpeedOptions& options) {
  const int64_t batch = options.run.batch;
  const Stopwatch watch;
  DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<ModelRun> run, ModelRun::Create(options.run));
  const double flops = 2.0 * double(run->graph().multiply_adds());
  ModelSpeed speed;
  if (options.training) {
    ResetPeakMemory();
    const std::optional<size_t> free = FreeMemory(run->context());
    DTNN_RETURN_IF_ERROR(run->PrepareForTraining());
    DTNN_RETURN_IF_ERROR(run->Train());
    DTNN_RETURN_IF_ERROR(run->Synchronize());
    speed.prepare_seconds = watch.seconds();
    DTNN_ASSIGN_OR_RETURN(speed.train_samples_per_second,
                          Rate(*run, batch, options.seconds, [&] { return run->Train(); }));
    const std::optional<size_t> left = FreeMemory(run->context());
    speed.memory_peak_bytes = free && left ? double(*free) - double(*left) : PeakMemory();
    speed.memory_planned_bytes = double(run->planned_bytes());
    speed.train_gflops = speed.train_samples_per_second * 3 * flops / 1e9;
    if (!run->captured()) speed.not_captured = run->reason();
  }
  if (options.inference) {
    DTNN_RETURN_IF_ERROR(run->PrepareForInference());
    DTNN_ASSIGN_OR_RETURN(speed.infer_samples_per_second,
                          Rate(*run, batch, options.seconds, [&] { return run->Infer(); }));
    speed.infer_gflops = speed.infer_samples_per_second * flops / 1e9;
  }
  return speed;
}

}  // namespace dtnn
