// Bytes per second of every second pixel of every second row, and of a crop, as each tensor is read
// or written once, forward and backward, both formats.

#include "benchmark/benchmark.h"
#include "kernels/image_slice/image_slice.h"

namespace dtnn {
namespace {

void Run(benchmark::State& state, TensorFormat format, int64_t step, bool backward) {
  const int64_t extent = state.range(0), count = extent / 2;
  const ImageSliceSpec spec = {.image = {extent, extent, state.range(1)},
                               .begin = {1, 1},
                               .count = {count, count},
                               .step = step,
                               .format = format};
  const auto context = *DeviceContext::Create(Device::Cpu());
  const auto slice = *CreateImageSlice(*context, spec);
  const auto images = [&](const ImageExtents& image) {
    return *Tensor::Zeros(DType::kFloat32, SampleShape(image, format).Prepend(16));
  };
  const Tensor x = images(spec.image), y = images(spec.output());
  for (auto _ : state) {
    const absl::Status status = backward ? slice->Backward(y, x, false) : slice->Forward(x, y);
    if (!status.ok()) state.SkipWithError("failed");
  }
  state.SetBytesProcessed(state.iterations() *
                          (backward ? x.num_elements() + y.num_elements() : 2 * y.num_elements()) *
                          int64_t(sizeof(float)));
}

void Shapes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"hw", "c"})->UseRealTime()->Args({224, 3})->Args({28, 256});
}

constexpr auto kNHWC = TensorFormat::kNHWC, kNCHW = TensorFormat::kNCHW;
void BM_StridedForwardNHWC(benchmark::State& s) { Run(s, kNHWC, 2, false); }
void BM_StridedForwardNCHW(benchmark::State& s) { Run(s, kNCHW, 2, false); }
void BM_StridedBackwardNHWC(benchmark::State& s) { Run(s, kNHWC, 2, true); }
void BM_StridedBackwardNCHW(benchmark::State& s) { Run(s, kNCHW, 2, true); }
void BM_CropForwardNHWC(benchmark::State& s) { Run(s, kNHWC, 1, false); }
void BM_CropForwardNCHW(benchmark::State& s) { Run(s, kNCHW, 1, false); }
BENCHMARK(BM_StridedForwardNHWC)->Apply(Shapes);
BENCHMARK(BM_StridedForwardNCHW)->Apply(Shapes);
BENCHMARK(BM_StridedBackwardNHWC)->Apply(Shapes);
BENCHMARK(BM_StridedBackwardNCHW)->Apply(Shapes);
BENCHMARK(BM_CropForwardNHWC)->Apply(Shapes);
BENCHMARK(BM_CropForwardNCHW)->Apply(Shapes);

}  // namespace
}  // namespace dtnn
