// Bytes per second of softmax and of softmax with cross entropy: the last layer of small networks
// (64 x 10), of ImageNet ones (64 x 1000), and many rows.

#include "benchmark/benchmark.h"
#include "kernels/softmax/softmax.h"

namespace dtnn {
namespace {

void Shapes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"rows", "columns"})->UseRealTime();
  benchmark->Args({64, 10})->Args({64, 1000})->Args({65536, 10})->Args({4096, 1000});
}

void BM_SoftmaxForward(benchmark::State& state) {
  const auto context = *DeviceContext::Create(Device::Cpu());
  const Tensor x = *Tensor::Zeros(DType::kFloat32, {state.range(0), state.range(1)});
  const Tensor y = *Tensor::Zeros(DType::kFloat32, x.shape());
  const auto softmax =
      *CreateSoftmax(*context, {.rows = state.range(0), .columns = state.range(1)});
  for (auto _ : state) {
    if (!softmax->Forward(x, y).ok()) state.SkipWithError("failed");
  }
  state.SetBytesProcessed(state.iterations() * x.num_elements() * int64_t(sizeof(float)) * 2);
}
BENCHMARK(BM_SoftmaxForward)->Apply(Shapes);

void BM_SoftmaxCrossEntropy(benchmark::State& state) {
  const auto context = *DeviceContext::Create(Device::Cpu());
  const Tensor x = *Tensor::Zeros(DType::kFloat32, {state.range(0), state.range(1)});
  const Tensor y = *Tensor::Zeros(DType::kFloat32, x.shape());
  const Tensor dx = *Tensor::Zeros(DType::kFloat32, x.shape());
  const Tensor losses = *Tensor::Zeros(DType::kFloat32, {state.range(0)});
  const Tensor labels = *Tensor::Zeros(DType::kInt32, {state.range(0)});
  const auto fused =
      *CreateSoftmaxCrossEntropy(*context, {.rows = state.range(0), .columns = state.range(1)});
  for (auto _ : state) {
    if (!fused->Run(x, labels, y, losses, dx, 1.0 / 64).ok()) state.SkipWithError("failed");
  }
  state.SetBytesProcessed(state.iterations() * x.num_elements() * int64_t(sizeof(float)) * 3);
}
BENCHMARK(BM_SoftmaxCrossEntropy)->Apply(Shapes);

}  // namespace
}  // namespace dtnn
