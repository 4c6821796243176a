// A network of the zoo that trains and answers on one random batch again and again: what
// benchmarks of whole networks measure. Adam, categorical cross entropy.
//
// On a GPU the batch is there before the first step, and stays; a step is the StepEngine's, as a
// run of the Trainer has it: one CUDA graph, with losses and predictions read a step later. An
// answer is a graph too, and stays on the GPU.

#ifndef DTNN_BENCH_MODEL_RUN_H_
#define DTNN_BENCH_MODEL_RUN_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "kernels/device/captured_work.h"
#include "kernels/device/context.h"
#include "kernels/device/math_mode.h"
#include "models/parameters/parameter_store.h"
#include "models/plan/int8_types.h"
#include "models/plan/plan.h"
#include "models/training/step/step_engine.h"
#include "tensor/device.h"
#include "tensor/format.h"

namespace dtnn {

struct ModelRunOptions {
  std::string model;
  int64_t batch = 64;
  TensorFormat format = TensorFormat::kNHWC;
  MathMode math_mode = MathMode::kFp32;
  Device device = Device::Cpu();
  bool graphs = true;  // on a GPU
  bool int8 = false;   // inference on a CPU, with ranges of the random samples
};

class ModelRun {
 public:
  static absl::StatusOr<std::unique_ptr<ModelRun>> Create(const ModelRunOptions& options);

  // Before the first Train. The first three steps are slower than the rest: a call by call, a
  // capture, the first replay.
  absl::Status PrepareForTraining();
  absl::Status Train() { return engine_->Step(batch_, &averages_); }
  // Likewise.
  absl::Status PrepareForInference();
  absl::Status Infer();
  // Waits for what was queued.
  absl::Status Synchronize() { return context_->Synchronize(); }

  const Graph& graph() const { return graph_; }
  DeviceContext& context() { return *context_; }
  // Parameters, gradients, optimizer state, arena, workspace of training.
  size_t planned_bytes() const { return store_->bytes() + engine_->training_memory()->total(); }
  // Whether steps are captured, after two of them; where not, why.
  bool captured() const { return engine_->graphs().captured() > 0; }
  std::string_view reason() const { return engine_->graphs().reason(); }

 private:
  ModelRun(const ModelRunOptions& options, Graph graph)
      : options_(options), graph_(std::move(graph)) {}
  absl::Status MakeBatch();

  const ModelRunOptions options_;
  const Graph graph_;
  std::unique_ptr<DeviceContext> context_;
  Batch batch_;
  std::unique_ptr<ParameterStore> store_;
  std::unique_ptr<StepEngine> engine_;
  MetricAverages averages_;
  Int8Choice int8_;
  std::unique_ptr<Plan> plan_;
  int64_t answers_ = 0;
  std::unique_ptr<CapturedWork> answer_;  // null: call by call
};

}  // namespace dtnn

#endif  // DTNN_BENCH_MODEL_RUN_H_
