// Bytes per second of multiplying images by factors and of the gradient of the factors, per format,
// on the maps of a small network and on a tensor larger than any cache.

#include "benchmark/benchmark.h"
#include "kernels/channel_scale/channel_scale.h"

namespace dtnn {
namespace {

void Run(benchmark::State& state, TensorFormat format, bool backward) {
  const int64_t n = state.range(0), extent = state.range(1), channels = state.range(2);
  const auto context = *DeviceContext::Create(Device::Cpu());
  const auto scale = *CreateChannelScale(*context, {.format = format});
  const Shape shape = format == TensorFormat::kNHWC ? Shape{n, extent, extent, channels}
                                                    : Shape{n, channels, extent, extent};
  const Tensor x = *Tensor::Zeros(DType::kFloat32, shape);
  const Tensor factors =
      *Tensor::Zeros(DType::kFloat32, SampleShape({1, 1, channels}, format).Prepend(n));
  for (auto _ : state) {
    const absl::Status status =
        backward ? scale->Reduce(x, x, factors, false) : scale->Multiply(x, factors, x, false);
    if (!status.ok()) state.SkipWithError("failed");
  }
  state.SetBytesProcessed(state.iterations() * x.num_elements() * int64_t(sizeof(float)) *
                          (backward ? 1 : 2));
}

void Shapes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"n", "hw", "c"})->UseRealTime();
  benchmark->Args({64, 28, 8})->Args({64, 14, 32})->Args({64, 1, 1000})->Args({64, 64, 64});
}

void BM_ChannelScaleForwardNHWC(benchmark::State& s) { Run(s, TensorFormat::kNHWC, false); }
void BM_ChannelScaleForwardNCHW(benchmark::State& s) { Run(s, TensorFormat::kNCHW, false); }
void BM_ChannelScaleBackwardNHWC(benchmark::State& s) { Run(s, TensorFormat::kNHWC, true); }
void BM_ChannelScaleBackwardNCHW(benchmark::State& s) { Run(s, TensorFormat::kNCHW, true); }
BENCHMARK(BM_ChannelScaleForwardNHWC)->Apply(Shapes);
BENCHMARK(BM_ChannelScaleForwardNCHW)->Apply(Shapes);
BENCHMARK(BM_ChannelScaleBackwardNHWC)->Apply(Shapes);
BENCHMARK(BM_ChannelScaleBackwardNCHW)->Apply(Shapes);

}  // namespace
}  // namespace dtnn
