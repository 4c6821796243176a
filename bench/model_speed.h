// How fast a whole network trains and answers, in one process and on one thread team: the numbers
// of bench/PERFORMANCE.md.

#ifndef DTNN_BENCH_MODEL_SPEED_H_
#define DTNN_BENCH_MODEL_SPEED_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "kernels/math_mode.h"
#include "tensor/format.h"

namespace dtnn {

struct ModelSpeedOptions {
  std::string model;
  int64_t batch = 64;
  TensorFormat format = TensorFormat::kNHWC;
  MathMode math_mode = MathMode::kFp32;
  double seconds = 3;  // per phase, after two steps to warm up
};

struct ModelSpeed {
  double train_samples_per_second = 0, infer_samples_per_second = 0;  // medians over blocks
  double train_gflops = 0, infer_gflops = 0;  // a training step counts three forward passes
  double memory_peak_bytes = 0;               // of the process, during training
  double memory_planned_bytes = 0;            // parameters, gradients, slots, arena, workspace
};

// Random samples and labels of the network's shape; Adam, categorical cross entropy.
absl::StatusOr<ModelSpeed> MeasureModel(const ModelSpeedOptions& options);

}  // namespace dtnn

#endif  // DTNN_BENCH_MODEL_SPEED_H_
