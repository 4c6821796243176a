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
BENCHMARK(BM_Dropout)->ArgName("n")->Arg(64 * 28 * 28 * 8)->Arg(1 << 24)->UseRealTime();

}  // namespace
}  // namespace dtnn
