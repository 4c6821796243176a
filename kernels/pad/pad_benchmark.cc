// Bytes per second of two more rows and columns on every side, as each tensor is read or written
// once, forward and backward, both formats.

#include "benchmark/benchmark.h"
#include "kernels/pad/pad.h"

namespace dtnn {
namespace {

void Run(benchmark::State& state, TensorFormat format, PadMode mode, bool backward) {
  const PadSpec spec = {.image = {state.range(0), state.range(0), state.range(1)},
                        .top = 2,
                        .bottom = 2,
                        .left = 2,
                        .right = 2,
                        .mode = mode,
                        .format = format};
  const auto context = *DeviceContext::Create(Device::Cpu());
  const auto pad = *CreatePad(*context, spec);
  const auto images = [&](const ImageExtents& image) {
    return *Tensor::Zeros(DType::kFloat32, SampleShape(image, format).Prepend(16));
  };
  const Tensor x = images(spec.image), y = images(spec.output());
  for (auto _ : state) {
    const absl::Status status = backward ? pad->Backward(y, x, false) : pad->Forward(x, y);
    if (!status.ok()) state.SkipWithError("failed");
  }
  state.SetBytesProcessed(state.iterations() * (x.num_elements() + y.num_elements()) *
                          int64_t(sizeof(float)));
}

void Shapes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"hw", "c"})->UseRealTime()->Args({64, 32})->Args({14, 256});
}

constexpr auto kNHWC = TensorFormat::kNHWC, kNCHW = TensorFormat::kNCHW;
void BM_ForwardNHWC(benchmark::State& s) { Run(s, kNHWC, PadMode::kReflect, false); }
void BM_ForwardNCHW(benchmark::State& s) { Run(s, kNCHW, PadMode::kReflect, false); }
void BM_BackwardNHWC(benchmark::State& s) { Run(s, kNHWC, PadMode::kReflect, true); }
void BM_BackwardNCHW(benchmark::State& s) { Run(s, kNCHW, PadMode::kReflect, true); }
BENCHMARK(BM_ForwardNHWC)->Apply(Shapes);
BENCHMARK(BM_ForwardNCHW)->Apply(Shapes);
BENCHMARK(BM_BackwardNHWC)->Apply(Shapes);
BENCHMARK(BM_BackwardNCHW)->Apply(Shapes);

}  // namespace
}  // namespace dtnn
