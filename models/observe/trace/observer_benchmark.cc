// What being watched costs: a span that nobody wants to know of, one that is kept, and whole steps
// of training in turn without and with observers.

#include <algorithm>
#include <iterator>
#include <memory>
#include <vector>

#include "benchmark/benchmark.h"
#include "models/observe/trace/event_log.h"
#include "models/observe/trace/layer_facts.h"
#include "models/observe/trace/profile.h"
#include "models/observe/trace/simple_trace.h"
#include "models/training/step/step_engine.h"
#include "models/zoo/zoo.h"
#include "optim/losses/categorical_cross_entropy.h"
#include "optim/optimizers/adam.h"
#include "tensor/must.h"
#include "tensor/stopwatch.h"
#include "tensor/trace/observer_list.h"

namespace dtnn {
namespace {

void BM_SpanOfNobody(benchmark::State& state) {
  int layer = 0;
  for (auto _ : state) {
    const Span span({.activity = Activity::kForward, .layer = layer, .samples = 64});
    benchmark::DoNotOptimize(++layer);
  }
}
BENCHMARK(BM_SpanOfNobody);

void BM_SpanInALog(benchmark::State& state) {
  EventLog log;
  const ScopedObserver watching(&log);
  for (auto _ : state) {
    const Span span({.activity = Activity::kForward, .layer = 1, .samples = 64});
  }
  state.counters["dropped"] = double(log.dropped());
}
BENCHMARK(BM_SpanInALog)->Iterations(900'000);

class Counter : public Observer {
 public:
  void End(const Event&) override { ++spans; }
  int64_t spans = 0;
};

double Median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + int64_t(values.size() / 2));
  return values[values.size() / 2];
}

// Steps of simplecnn8 at batch 64 by turns with nobody, a log, a profile, and all at once: what a
// step costs more than the one without just before it, per cent, the median over the rounds.
void BM_Steps(benchmark::State& state) {
  const Graph graph = Must(BuildModel("simplecnn8", {}));
  const auto device = Must(DeviceContext::Create(Device::Cpu()));
  const auto store = Must(ParameterStore::Create(graph, *device, DType::kFloat32, 1));
  TrainerOptions options;
  options.metric_set.loss = std::make_shared<CategoricalCrossEntropy>();
  options.optimizer = std::make_shared<Adam>();
  const auto engine = Must(StepEngine::Create(graph, *store, *device, options));
  Must(engine->PrepareForTraining(64));
  const Batch batch{.x = Must(Tensor::Zeros(DType::kFloat32, graph.input_shape().Prepend(64))),
                    .targets = Must(Tensor::Zeros(DType::kInt32, Shape{64})),
                    .count = 64,
                    .global_count = 64};
  const std::vector<LayerFacts> layers = DescribeLayers(graph, *store);
  EventLog log;
  Profile profile(int(layers.size()) + 1);
  SimpleTrace simple(layers);
  ObserverList all({&log, &profile, &simple});
  Observer* const observers[] = {nullptr, &log, &profile, &all};
  const auto step = [&](Observer* observer) {
    const ScopedObserver watching(observer);
    const Stopwatch watch;
    Must(engine->Step(batch, nullptr));
    return watch.seconds();
  };
  Counter counter;
  step(&counter);
  std::vector<double> without, ratios[std::size(observers)];
  for (auto _ : state) {
    for (size_t i = 1; i < std::size(observers); ++i) {
      without.push_back(step(nullptr));
      ratios[i].push_back(step(observers[i]) / without.back());
    }
  }
  state.counters["step_us"] = Median(without) * 1e6;
  state.counters["spans"] = double(counter.spans);
  state.counters["log_%"] = 100 * (Median(ratios[1]) - 1);
  state.counters["profile_%"] = 100 * (Median(ratios[2]) - 1);
  state.counters["all_%"] = 100 * (Median(ratios[3]) - 1);
}
BENCHMARK(BM_Steps)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace dtnn
