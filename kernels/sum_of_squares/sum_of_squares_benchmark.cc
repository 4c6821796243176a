// Bytes per second, for the gradients of simplecnn8 (in cache) and of vgg16_cifar10 (in memory).

#include "benchmark/benchmark.h"
#include "kernels/sum_of_squares/sum_of_squares.h"

namespace dtnn {
namespace {

void BM_SumOfSquares(benchmark::State& state) {
  const auto context = *DeviceContext::Create(Device::Cpu());
  const auto sum = *CreateSumOfSquares(*context, DType::kFloat32);
  const Tensor x = *Tensor::Zeros(DType::kFloat32, {state.range(0)});
  for (auto _ : state) benchmark::DoNotOptimize(sum->Run(x));
  state.SetBytesProcessed(state.iterations() * state.range(0) * int64_t(sizeof(float)));
}
BENCHMARK(BM_SumOfSquares)->ArgName("n")->Arg(202458)->Arg(15245130)->UseRealTime();

}  // namespace
}  // namespace dtnn
