// Bytes per second of the optimizers' pass, beside those of a plain copy on the same number of
// threads, for the parameters of simplecnn8 (in cache) and of vgg16_cifar10 (in memory); `of_copy`
// is the share of the bandwidth of a large copy by the same threads.

#include <cstring>
#include <vector>

#include "benchmark/benchmark.h"
#include "kernels/peak/peak.h"
#include "kernels/update/update.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

void SetBytes(benchmark::State& state, int64_t bytes) {
  static const double copy = MeasureCopyBandwidth(NumThreads()) * 1e9;
  state.SetBytesProcessed(bytes);
  state.counters["of_copy"] = benchmark::Counter(double(bytes) / copy, benchmark::Counter::kIsRate);
}

constexpr int64_t kSmall = 202458, kLarge = 15245130;

void BM_Copy(benchmark::State& state) {
  const int64_t n = state.range(0);
  const Tensor from = *Tensor::Zeros(DType::kFloat32, {n}),
               to = *Tensor::Zeros(DType::kFloat32, {n});
  for (auto _ : state) {
    ParallelFor(0, n, 16384, [&](int64_t begin, int64_t end) {
      std::memcpy(to.data<float>() + begin, from.data<float>() + begin,
                  size_t(end - begin) * sizeof(float));
    });
    benchmark::ClobberMemory();
  }
  SetBytes(state, state.iterations() * n * int64_t(sizeof(float)) * 2);
}
BENCHMARK(BM_Copy)->ArgName("n")->Arg(kSmall)->Arg(kLarge)->UseRealTime();

void Run(benchmark::State& state, const UpdateSpec& spec) {
  const int64_t n = state.range(0);
  const auto context = *DeviceContext::Create(Device::Cpu());
  const auto update = *CreateUpdate(*context, spec);
  const Tensor w = *Tensor::Zeros(DType::kFloat32, {n}), g = *Tensor::Zeros(DType::kFloat32, {n});
  std::vector<Tensor> slots;
  while (int(slots.size()) < spec.slots()) slots.push_back(*Tensor::Zeros(DType::kFloat32, {n}));
  for (auto _ : state) {
    if (!update->Run(w, g, slots, {.learning_rate = .01}).ok()) state.SkipWithError("failed");
  }
  // Gradients are read; parameters and slots are read and written.
  SetBytes(state, state.iterations() * n * int64_t(sizeof(float)) * (3 + 2 * spec.slots()));
}
void BM_UpdateSgd(benchmark::State& state) { Run(state, {.momentum = .9}); }
void BM_UpdateRmsprop(benchmark::State& state) { Run(state, {.rule = UpdateRule::kRmsprop}); }
void BM_UpdateAdam(benchmark::State& state) { Run(state, {.rule = UpdateRule::kAdam}); }
void BM_UpdateNadam(benchmark::State& state) { Run(state, {.rule = UpdateRule::kNadam}); }
void BM_UpdateAdamw(benchmark::State& state) { Run(state, {.rule = UpdateRule::kAdamw}); }
void BM_UpdateSgdAveraging(benchmark::State& state) {
  Run(state, {.momentum = .9, .average_decay = .999});
}
void BM_UpdateAdamAveraging(benchmark::State& state) {
  Run(state, {.rule = UpdateRule::kAdam, .average_decay = .999});
}
// Every other kilobyte spared: more ranges than any network has.
void BM_UpdateSgdSparing(benchmark::State& state) {
  UpdateSpec spec = {.momentum = .9, .decay = 1e-4};
  for (int64_t begin = 0; begin + 512 <= state.range(0); begin += 512) {
    spec.without_decay.push_back({begin, begin + 256});
  }
  Run(state, spec);
}
BENCHMARK(BM_UpdateSgd)->ArgName("n")->Arg(kSmall)->Arg(kLarge)->UseRealTime();
BENCHMARK(BM_UpdateSgdAveraging)->ArgName("n")->Arg(kSmall)->Arg(kLarge)->UseRealTime();
BENCHMARK(BM_UpdateAdamAveraging)->ArgName("n")->Arg(kSmall)->Arg(kLarge)->UseRealTime();
BENCHMARK(BM_UpdateRmsprop)->ArgName("n")->Arg(kSmall)->Arg(kLarge)->UseRealTime();
BENCHMARK(BM_UpdateAdam)->ArgName("n")->Arg(kSmall)->Arg(kLarge)->UseRealTime();
BENCHMARK(BM_UpdateNadam)->ArgName("n")->Arg(kSmall)->Arg(kLarge)->UseRealTime();
BENCHMARK(BM_UpdateAdamw)->ArgName("n")->Arg(kSmall)->Arg(kLarge)->UseRealTime();
BENCHMARK(BM_UpdateSgdSparing)->ArgName("n")->Arg(kSmall)->Arg(kLarge)->UseRealTime();

}  // namespace
}  // namespace dtnn
