// Bytes per second of normalising images, forward and backward, as far as each tensor is read or
// written once: maps of ConvNeXt's first and third stage, pixel by pixel, and in 32 groups.

#include <vector>

#include "benchmark/benchmark.h"
#include "kernels/group_norm/group_norm.h"

namespace dtnn {
namespace {

void Run(benchmark::State& state, TensorFormat format, bool per_pixel, bool backward) {
  const int64_t n = state.range(0), extent = state.range(1), channels = state.range(2);
  const auto context = *DeviceContext::Create(Device::Cpu());
  const auto norm = *CreateGroupNorm(*context, {.batch = n,
                                                .positions = extent * extent,
                                                .channels = channels,
                                                .groups = per_pixel ? 1 : 32,
                                                .per_pixel = per_pixel,
                                                .format = format});
  const Shape shape = SampleShape({extent, extent, channels}, format).Prepend(n);
  const Tensor x = *Tensor::Zeros(DType::kFloat32, shape),
               y = *Tensor::Zeros(DType::kFloat32, shape);
  const Tensor vector = *Tensor::Zeros(DType::kFloat32, {channels});
  const Tensor workspace = *Tensor::Zeros(DType::kUint8, Shape{int64_t(norm->workspace_bytes())});
  for (auto _ : state) {
    const absl::Status status =
        backward ? norm->Backward(x, x, vector, y, false, vector, vector,
                                  {workspace.raw_data(), norm->workspace_bytes()})
                 : norm->Forward(x, vector, vector, y);
    if (!status.ok()) state.SkipWithError("failed");
  }
  state.SetBytesProcessed(state.iterations() * x.num_elements() * int64_t(sizeof(float)) *
                          (backward ? 3 : 2));
}

void Shapes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"n", "hw", "c"})->UseRealTime();
  benchmark->Args({8, 56, 96})->Args({8, 14, 384});
}

void BM_GroupNormForwardNHWC(benchmark::State& s) { Run(s, TensorFormat::kNHWC, false, false); }
void BM_GroupNormForwardNCHW(benchmark::State& s) { Run(s, TensorFormat::kNCHW, false, false); }
void BM_GroupNormBackwardNHWC(benchmark::State& s) { Run(s, TensorFormat::kNHWC, false, true); }
void BM_GroupNormBackwardNCHW(benchmark::State& s) { Run(s, TensorFormat::kNCHW, false, true); }
void BM_PixelNormForwardNHWC(benchmark::State& s) { Run(s, TensorFormat::kNHWC, true, false); }
void BM_PixelNormForwardNCHW(benchmark::State& s) { Run(s, TensorFormat::kNCHW, true, false); }
void BM_PixelNormBackwardNHWC(benchmark::State& s) { Run(s, TensorFormat::kNHWC, true, true); }
void BM_PixelNormBackwardNCHW(benchmark::State& s) { Run(s, TensorFormat::kNCHW, true, true); }
BENCHMARK(BM_GroupNormForwardNHWC)->Apply(Shapes);
BENCHMARK(BM_GroupNormForwardNCHW)->Apply(Shapes);
BENCHMARK(BM_GroupNormBackwardNHWC)->Apply(Shapes);
BENCHMARK(BM_GroupNormBackwardNCHW)->Apply(Shapes);
BENCHMARK(BM_PixelNormForwardNHWC)->Apply(Shapes);
BENCHMARK(BM_PixelNormForwardNCHW)->Apply(Shapes);
BENCHMARK(BM_PixelNormBackwardNHWC)->Apply(Shapes);
BENCHMARK(BM_PixelNormBackwardNCHW)->Apply(Shapes);

}  // namespace
}  // namespace dtnn
