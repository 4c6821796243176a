#include "bench/model_speed.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <memory>
#include <vector>

#include "models/parameters/parameter_store.h"
#include "models/plan/plan.h"
#include "models/training/step_engine.h"
#include "models/zoo/zoo.h"
#include "optim/losses/categorical_cross_entropy.h"
#include "optim/metrics/categorical_accuracy.h"
#include "optim/optimizers/adam.h"
#include "tensor/philox.h"
#include "tensor/status_macros.h"
#include "tensor/stopwatch.h"

namespace dtnn {
namespace {

// Samples per second: the median of eight blocks of `seconds` / 8.
absl::StatusOr<double> Rate(int64_t batch, double seconds,
                            const std::function<absl::Status()>& step) {
  for (int i = 0; i < 2; ++i) DTNN_RETURN_IF_ERROR(step());
  std::vector<double> rates;
  for (int block = 0; block < 8; ++block) {
    const Stopwatch watch;
    int64_t steps = 0;
    double elapsed = 0;
    do {
      DTNN_RETURN_IF_ERROR(step());
      ++steps;
      elapsed = watch.seconds();
    } while (elapsed < seconds / 8);
    rates.push_back(double(steps * batch) / elapsed);
  }
  std::nth_element(rates.begin(), rates.begin() + 4, rates.end());
  return rates[4];
}

absl::StatusOr<Batch> RandomBatch(const Graph& graph, int64_t n) {
  Batch batch;
  DTNN_ASSIGN_OR_RETURN(batch.x, Tensor::Zeros(DType::kFloat32, graph.input_shape().Prepend(n)));
  DTNN_ASSIGN_OR_RETURN(batch.targets, Tensor::Zeros(DType::kInt32, Shape{n}));
  const Philox random(1, StreamId(RandomPurpose::kSynthetic));
  for (int64_t i = 0; i < batch.x.num_elements(); ++i) {
    batch.x.data<float>()[i] = float(random.Uniform(uint64_t(i)));
  }
  const uint32_t classes = uint32_t(graph.output_shape()[0]);
  for (int64_t i = 0; i < n; ++i) {
    batch.targets.data<int32_t>()[i] = int32_t(random.Below(uint64_t(i), classes));
  }
  batch.count = batch.global_count = n;
  return batch;
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
  DTNN_ASSIGN_OR_RETURN(const Graph graph, BuildModel(options.model, {.format = options.format}));
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<DeviceContext> device,
                        DeviceContext::Create(Device::Cpu()));
  DTNN_RETURN_IF_ERROR(device->SetMathMode(options.math_mode));
  DTNN_ASSIGN_OR_RETURN(const Batch batch, RandomBatch(graph, options.batch));
  ResetPeakMemory();
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<ParameterStore> store,
                        ParameterStore::Create(graph, *device, DType::kFloat32, 1));
  TrainerOptions training;
  training.metric_set = {std::make_shared<CategoricalCrossEntropy>(),
                         {std::make_shared<CategoricalAccuracy>()}};
  training.optimizer = std::make_shared<Adam>(AdamOptions{.beta1 = 0.9});
  training.learning_rate = 1e-3;
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<StepEngine> engine,
                        StepEngine::Create(graph, *store, *device, training));
  DTNN_RETURN_IF_ERROR(engine->PrepareForTraining(options.batch));
  ModelSpeed speed;
  MetricAverages averages = engine->NewAverages();
  DTNN_ASSIGN_OR_RETURN(speed.train_samples_per_second, Rate(options.batch, options.seconds, [&] {
                          return engine->Step(batch, &averages);
                        }));
  speed.memory_peak_bytes = PeakMemory();
  speed.memory_planned_bytes = double(store->bytes() + engine->training_memory()->total());

  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<Plan> plan,
                        Plan::Compile(graph, *store, *device, {.batch = options.batch}));
  DTNN_ASSIGN_OR_RETURN(speed.infer_samples_per_second, Rate(options.batch, options.seconds, [&] {
                          return plan->Forward(batch.x);
                        }));
  const double flops = 2.0 * double(graph.multiply_adds());
  speed.train_gflops = speed.train_samples_per_second * 3 * flops / 1e9;
  speed.infer_gflops = speed.infer_samples_per_second * flops / 1e9;
  return speed;
}

}  // namespace dtnn
