// Bytes per second of making images twice as large, forward and backward, as far as each tensor is
// read or written once: the two largest maps of a U-Net's way up.

#include "benchmark/benchmark.h"
#include "kernels/resize/resize.h"

namespace dtnn {
namespace {

void Run(benchmark::State& state, TensorFormat format, ResizeMode mode, bool backward) {
  const int64_t extent = state.range(0), channels = state.range(1);
  const ResizeSpec spec = {.batch = 8,
                           .height = extent,
                           .width = extent,
                           .channels = channels,
                           .out_height = 2 * extent,
                           .out_width = 2 * extent,
                           .mode = mode,
                           .format = format};
  const auto context = *DeviceContext::Create(Device::Cpu());
  const auto resize = *CreateResize(*context, spec);
  const Tensor x = *Tensor::Zeros(DType::kFloat32, spec.InputShape()),
               y = *Tensor::Zeros(DType::kFloat32, spec.OutputShape());
  for (auto _ : state) {
    const absl::Status status = backward ? resize->Backward(y, x, false) : resize->Forward(x, y);
    if (!status.ok()) state.SkipWithError("failed");
  }
  state.SetBytesProcessed(state.iterations() * (x.num_elements() + y.num_elements()) *
                          int64_t(sizeof(float)));
}

void Shapes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"hw", "c"})->UseRealTime()->Args({64, 64})->Args({32, 128});
}

constexpr auto kNearest = ResizeMode::kNearest, kLinear = ResizeMode::kLinear;
constexpr auto kNHWC = TensorFormat::kNHWC, kNCHW = TensorFormat::kNCHW;
void BM_NearestForwardNHWC(benchmark::State& s) { Run(s, kNHWC, kNearest, false); }
void BM_NearestForwardNCHW(benchmark::State& s) { Run(s, kNCHW, kNearest, false); }
void BM_NearestBackwardNHWC(benchmark::State& s) { Run(s, kNHWC, kNearest, true); }
void BM_NearestBackwardNCHW(benchmark::State& s) { Run(s, kNCHW, kNearest, true); }
void BM_LinearForwardNHWC(benchmark::State& s) { Run(s, kNHWC, kLinear, false); }
void BM_LinearForwardNCHW(benchmark::State& s) { Run(s, kNCHW, kLinear, false); }
void BM_LinearBackwardNHWC(benchmark::State& s) { Run(s, kNHWC, kLinear, true); }
void BM_LinearBackwardNCHW(benchmark::State& s) { Run(s, kNCHW, kLinear, true); }
BENCHMARK(BM_NearestForwardNHWC)->Apply(Shapes);
BENCHMARK(BM_NearestForwardNCHW)->Apply(Shapes);
BENCHMARK(BM_NearestBackwardNHWC)->Apply(Shapes);
BENCHMARK(BM_NearestBackwardNCHW)->Apply(Shapes);
BENCHMARK(BM_LinearForwardNHWC)->Apply(Shapes);
BENCHMARK(BM_LinearForwardNCHW)->Apply(Shapes);
BENCHMARK(BM_LinearBackwardNHWC)->Apply(Shapes);
BENCHMARK(BM_LinearBackwardNCHW)->Apply(Shapes);

}  // namespace
}  // namespace dtnn
