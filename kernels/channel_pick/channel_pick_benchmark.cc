// Bytes per second of a channel shuffle and of half of the channels: the maps of ShuffleNetV2's
// first two stages, both formats, forward and backward.

#include "benchmark/benchmark.h"
#include "kernels/channel_pick/channel_pick.h"

namespace dtnn {
namespace {

void Run(benchmark::State& state, TensorFormat format, int64_t groups, bool backward) {
  const int64_t extent = state.range(0), channels = state.range(1);
  const int64_t count = groups == 1 ? channels / 2 : channels;
  const auto context = *DeviceContext::Create(Device::Cpu());
  const auto pick = *CreateChannelPick(*context, {.channels = channels,
                                                  .begin = channels - count,
                                                  .count = count,
                                                  .groups = groups,
                                                  .format = format});
  const auto images = [&](int64_t c) {
    return *Tensor::Zeros(DType::kFloat32, SampleShape({extent, extent, c}, format).Prepend(16));
  };
  const Tensor x = images(channels), y = images(count);
  for (auto _ : state) {
    const absl::Status status = backward ? pick->Backward(y, x, false) : pick->Forward(x, y);
    if (!status.ok()) state.SkipWithError("failed");
  }
  const int64_t elements = y.num_elements() + (backward ? x : y).num_elements();
  state.SetBytesProcessed(state.iterations() * elements * int64_t(sizeof(float)));
}

void Shapes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"hw", "c"})->UseRealTime()->Args({28, 116})->Args({14, 232});
}

constexpr auto kNHWC = TensorFormat::kNHWC, kNCHW = TensorFormat::kNCHW;
void BM_ShuffleForwardNHWC(benchmark::State& s) { Run(s, kNHWC, 2, false); }
void BM_ShuffleForwardNCHW(benchmark::State& s) { Run(s, kNCHW, 2, false); }
void BM_ShuffleBackwardNHWC(benchmark::State& s) { Run(s, kNHWC, 2, true); }
void BM_ShuffleBackwardNCHW(benchmark::State& s) { Run(s, kNCHW, 2, true); }
void BM_SliceForwardNHWC(benchmark::State& s) { Run(s, kNHWC, 1, false); }
void BM_SliceForwardNCHW(benchmark::State& s) { Run(s, kNCHW, 1, false); }
void BM_SliceBackwardNHWC(benchmark::State& s) { Run(s, kNHWC, 1, true); }
void BM_SliceBackwardNCHW(benchmark::State& s) { Run(s, kNCHW, 1, true); }
BENCHMARK(BM_ShuffleForwardNHWC)->Apply(Shapes);
BENCHMARK(BM_ShuffleForwardNCHW)->Apply(Shapes);
BENCHMARK(BM_ShuffleBackwardNHWC)->Apply(Shapes);
BENCHMARK(BM_ShuffleBackwardNCHW)->Apply(Shapes);
BENCHMARK(BM_SliceForwardNHWC)->Apply(Shapes);
BENCHMARK(BM_SliceForwardNCHW)->Apply(Shapes);
BENCHMARK(BM_SliceBackwardNHWC)->Apply(Shapes);
BENCHMARK(BM_SliceBackwardNCHW)->Apply(Shapes);

}  // namespace
}  // namespace dtnn
