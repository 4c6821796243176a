// Bytes per second of dropout, on the maps of a small network and on a tensor larger than any
// cache.

#include "benchmark/benchmark.h"
#include "kernels/dropout/dropout.h"

namespace dtnn {
namespace {

void BM_Dropout(benchmark::State& state) {
  const int64_t n = state.range(0);
  const auto context = *DeviceContext::Create(Device::Cpu());
  const auto dropout = *CreateDropout(*context, {});
  const Tensor x = *Tensor::Zeros(DType::kFloat32, {n}), y = *Tensor::Zeros(DType::kFloat32, {n});
  const Philox stream(1, 2);
  for (auto _ : state) {
    if (!dropout->Run(x, stream, 0, y, false).ok()) state.SkipWithError("failed");
  }
  state.SetBytesProcessed(state.iterations() * n * int64_t(sizeof(float)) * 2);
}
// Images of 64 samples, 28x28x8 or 7x7x512.
void BM_DropoutPlanes(benchmark::State& state) {
  const int64_t side = state.range(0), channels = state.range(1);
  const auto context = *DeviceContext::Create(Device::Cpu());
  const auto dropout = *CreateDropout(*context, {.format = TensorFormat::kNCHW});
  const Shape shape = {64, channels, side, side};
  const Tensor x = *Tensor::Zeros(DType::kFloat32, shape),
               y = *Tensor::Zeros(DType::kFloat32, shape);
  const Philox stream(1, 2);
  for (auto _ : state) {
    if (!dropout->Run(x, stream, 0, y, false).ok()) state.SkipWithError("failed");
  }
  state.SetBytesProcessed(state.iterations() * x.num_elements() * int64_t(sizeof(float)) * 2);
}
BENCHMARK(BM_DropoutPlanes)->Args({28, 8})->Args({7, 512})->UseRealTime();

BENCHMARK(BM_Dropout)->ArgName("n")->Arg(64 * 28 * 28 * 8)->Arg(1 << 24)->UseRealTime();

}  // namespace
}  // namespace dtnn
