// How long it takes to plan the memory of a training step, batch 64: the wait before the first step
// and of a dry run.

#include <string>

#include "benchmark/benchmark.h"
#include "models/plan/plan.h"
#include "models/zoo/zoo.h"
#include "optim/losses/categorical_cross_entropy.h"

namespace dtnn {
namespace {

void BM_MeasurePlan(benchmark::State& state, std::string_view model) {
  const auto graph = BuildModel(model, {});
  const auto device = *DeviceContext::Create(Device::Cpu());
  const CategoricalCrossEntropy loss;
  if (!graph.ok()) {
    state.SkipWithError(std::string(graph.status().message()).c_str());
    return;
  }
  PlanMemory memory;
  for (auto _ : state) {
    const auto measured = Plan::Measure(*graph, DType::kFloat32, *device,
                                        {.batch = 64, .training = true, .loss = &loss});
    if (!measured.ok()) {
      state.SkipWithError(std::string(measured.status().message()).c_str());
      return;
    }
    memory = *measured;
  }
  const auto counter = [](size_t bytes) {
    return benchmark::Counter(double(bytes), benchmark::Counter::kDefaults,
                              benchmark::Counter::kIs1024);
  };
  state.counters["arena"] = counter(memory.arena);
  state.counters["activations"] = counter(memory.activations);
  state.counters["gradients"] = counter(memory.gradients);
  state.counters["workspace"] = counter(memory.workspace);
}

const int kRegistered = [] {
  for (const ModelInfo& model : ZooModels()) {
    benchmark::RegisterBenchmark(("BM_MeasurePlan/" + std::string(model.name)).c_str(),
                                 BM_MeasurePlan, std::string_view(model.name))
        ->Unit(benchmark::kMillisecond);
  }
  return 0;
}();

}  // namespace
}  // namespace dtnn
