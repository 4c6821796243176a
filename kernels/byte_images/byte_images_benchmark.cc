// Bytes per second, read and written, of byte images: batches as CIFAR-10 and ImageNet have them,
// flipped and shifted.

#include "benchmark/benchmark.h"
#include "kernels/byte_images/byte_images.h"

namespace dtnn {
namespace {

void Run(benchmark::State& state, TensorFormat to) {
  const int64_t n = state.range(0), side = state.range(1);
  const auto context = *DeviceContext::Create(Device::Cpu());
  const ByteImagesSpec spec = {.sample = {side, side, 3},
                               .from = TensorFormat::kNCHW,
                               .to = to,
                               .changes = 2,
                               .values = *Tensor::Zeros(DType::kFloat32, {3, 256})};
  const auto images = *CreateByteImages(*context, spec, DType::kFloat32);
  const Tensor bytes = *Tensor::Zeros(DType::kUint8, spec.bytes_shape(n));
  const Tensor changes = *Tensor::Zeros(DType::kInt32, spec.changes_shape(n));
  const Tensor y = *Tensor::Zeros(DType::kFloat32, spec.values_shape(n));
  auto* change = reinterpret_cast<PixelChange*>(changes.data<int32_t>());
  for (int64_t i = 0; i < n; ++i) {
    *change++ = {.kind = i % 2 == 0 ? PixelChange::kNone : PixelChange::kFlipColumns};
    *change++ = {.kind = PixelChange::kMove,
                 .bottom = int32_t(side),
                 .right = int32_t(side),
                 .down = int32_t(i % 9) - 4,
                 .across = 4 - int32_t(i % 9)};
  }
  for (auto _ : state) {
    if (!images->Run(bytes, changes, y).ok()) state.SkipWithError("failed");
  }
  state.SetBytesProcessed(state.iterations() * y.num_elements() *
                          int64_t(sizeof(uint8_t) + sizeof(float)));
}

void Shapes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"n", "side"})->UseRealTime()->Args({128, 32})->Args({8, 224});
}
void BM_ByteImagesNHWC(benchmark::State& state) { Run(state, TensorFormat::kNHWC); }
void BM_ByteImagesNCHW(benchmark::State& state) { Run(state, TensorFormat::kNCHW); }
BENCHMARK(BM_ByteImagesNHWC)->Apply(Shapes);
BENCHMARK(BM_ByteImagesNCHW)->Apply(Shapes);

}  // namespace
}  // namespace dtnn
