// How fast a whole network trains and answers, in one process, on one thread team or one GPU: the
// numbers of bench/PERFORMANCE.md.

#ifndef DTNN_BENCH_MODEL_SPEED_H_
#define DTNN_BENCH_MODEL_SPEED_H_

#include <string>

#include "absl/status/statusor.h"
#include "bench/model_run.h"

namespace dtnn {

struct ModelSpeedOptions {
  ModelRunOptions run;
  double seconds = 3;  // per phase, after some steps to warm up
  bool training = true, inference = true;
};

struct ModelSpeed {
  // Medians over blocks of steps, each of which ends when the device has done them; 0: not
  // measured.
  double train_samples_per_second = 0, infer_samples_per_second = 0;
  double train_gflops = 0, infer_gflops = 0;  // a training step counts three forward passes
  // During training, the largest: of the process, or of the device where that has its own.
  double memory_peak_bytes = 0;
  double memory_planned_bytes = 0;  // parameters, gradients, slots, arena, workspace
  double prepare_seconds = 0;       // until training's first step is done
  std::string not_captured;         // on a GPU: why steps run call by call; empty where they do not
};

absl::StatusOr<ModelSpeed> MeasureModel(const ModelSpeedOptions& options);

}  // namespace dtnn

#endif  // DTNN_BENCH_MODEL_SPEED_H_
