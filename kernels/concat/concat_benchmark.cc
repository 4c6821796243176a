// Bytes per second of a concatenation: four paths of an Inception block, and a DenseNet block's
// narrow growth beside what is there already, both formats.

#include <vector>

#include "benchmark/benchmark.h"
#include "kernels/concat/concat.h"

namespace dtnn {
namespace {

void Run(benchmark::State& state, TensorFormat format) {
  const int64_t batch = 64, extent = state.range(0);
  const auto images = [&](int64_t channels) {
    return *Tensor::Zeros(DType::kFloat32, format == TensorFormat::kNHWC
                                               ? Shape{batch, extent, extent, channels}
                                               : Shape{batch, channels, extent, extent});
  };
  const auto context = *DeviceContext::Create(Device::Cpu());
  const auto concat = *CreateConcat(*context, {.format = format});
  std::vector<Tensor> inputs;
  int64_t channels = 0;
  for (int i = 1; i <= 4; ++i) {
    if (state.range(i) == 0) continue;
    inputs.push_back(images(state.range(i)));
    channels += state.range(i);
  }
  const Tensor y = images(channels);
  for (auto _ : state) {
    if (!concat->Forward(inputs, y).ok()) state.SkipWithError("failed");
  }
  state.SetBytesProcessed(state.iterations() * y.num_elements() * int64_t(sizeof(float)) * 2);
}

void Shapes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"hw", "c0", "c1", "c2", "c3"})->UseRealTime();
  benchmark->Args({16, 64, 128, 32, 32})->Args({16, 128, 12, 0, 0})->Args({28, 8, 8, 0, 0});
}
void BM_ConcatNHWC(benchmark::State& state) { Run(state, TensorFormat::kNHWC); }
void BM_ConcatNCHW(benchmark::State& state) { Run(state, TensorFormat::kNCHW); }
BENCHMARK(BM_ConcatNHWC)->Apply(Shapes);
BENCHMARK(BM_ConcatNCHW)->Apply(Shapes);

}  // namespace
}  // namespace dtnn
