// Bytes per second of sums of one (a copy), two and four activations, on the maps of a small
// network and on tensors larger than any cache.

#include <vector>

#include "benchmark/benchmark.h"
#include "kernels/add/add.h"

namespace dtnn {
namespace {

void BM_Add(benchmark::State& state) {
  const int64_t n = state.range(0), count = state.range(1);
  const auto context = *DeviceContext::Create(Device::Cpu());
  const auto add = *CreateAdd(*context, {});
  std::vector<Tensor> inputs;
  while (int64_t(inputs.size()) < count) {
    inputs.push_back(*Tensor::Zeros(DType::kFloat32, {n}));
  }
  const Tensor y = *Tensor::Zeros(DType::kFloat32, {n});
  for (auto _ : state) {
    if (!add->Run(inputs, y, false).ok()) state.SkipWithError("failed");
  }
  state.SetBytesProcessed(state.iterations() * n * int64_t(sizeof(float)) * (count + 1));
}
BENCHMARK(BM_Add)
    ->ArgNames({"n", "inputs"})
    ->ArgsProduct({{64 * 28 * 28 * 8, 1 << 24}, {1, 2, 4}})
    ->UseRealTime();

}  // namespace
}  // namespace dtnn
