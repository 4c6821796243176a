// Bytes per second of adding a bias and of its gradient, per format, on the maps of a small network
// and on a tensor larger than any cache.

#include "benchmark/benchmark.h"
#include "kernels/bias/bias.h"

namespace dtnn {
namespace {

void Run(benchmark::State& state, TensorFormat format, bool backward) {
  const int64_t n = state.range(0), extent = state.range(1), channels = state.range(2);
  const auto context = *DeviceContext::Create(Device::Cpu());
  const auto bias = *CreateBias(*context, {.channels = channels, .format = format});
  const Shape shape = format == TensorFormat::kNHWC ? Shape{n, extent, extent, channels}
                                                    : Shape{n, channels, extent, extent};
  const Tensor x = *Tensor::Zeros(DType::kFloat32, shape);
  const Tensor b = *Tensor::Zeros(DType::kFloat32, {channels});
  for (auto _ : state) {
    const absl::Status status = backward ? bias->Backward(x, b, false) : bias->Forward(x, b, x);
    if (!status.ok()) state.SkipWithError("failed");
  }
  state.SetBytesProcessed(state.iterations() * x.num_elements() * int64_t(sizeof(float)) *
                          (backward ? 1 : 2));
}

void Shapes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"n", "hw", "c"})->UseRealTime();
  benchmark->Args({64, 28, 8})->Args({64, 14, 32})->Args({64, 1, 1000})->Args({64, 64, 64});
}

void BM_BiasForwardNHWC(benchmark::State& s) { Run(s, TensorFormat::kNHWC, false); }
void BM_BiasForwardNCHW(benchmark::State& s) { Run(s, TensorFormat::kNCHW, false); }
void BM_BiasBackwardNHWC(benchmark::State& s) { Run(s, TensorFormat::kNHWC, true); }
void BM_BiasBackwardNCHW(benchmark::State& s) { Run(s, TensorFormat::kNCHW, true); }
BENCHMARK(BM_BiasForwardNHWC)->Apply(Shapes);
BENCHMARK(BM_BiasForwardNCHW)->Apply(Shapes);
BENCHMARK(BM_BiasBackwardNHWC)->Apply(Shapes);
BENCHMARK(BM_BiasBackwardNCHW)->Apply(Shapes);

}  // namespace
}  // namespace dtnn
