// Bytes per second of a relu with learned slopes, of its gradient, and of the gradient of the
// slopes, per format, on the maps of a small network and on a tensor larger than any cache.

#include "benchmark/benchmark.h"
#include "kernels/prelu/prelu.h"

namespace dtnn {
namespace {

enum class Pass : uint8_t { kForward, kBackward, kSlopes };

void Run(benchmark::State& state, TensorFormat format, Pass pass) {
  const int64_t n = state.range(0), extent = state.range(1), channels = state.range(2);
  const auto context = *DeviceContext::Create(Device::Cpu());
  const auto prelu = *CreatePRelu(*context, {.channels = channels, .format = format});
  const Shape shape = format == TensorFormat::kNHWC ? Shape{n, extent, extent, channels}
                                                    : Shape{n, channels, extent, extent};
  const Tensor x = *Tensor::Zeros(DType::kFloat32, shape),
               dy = *Tensor::Zeros(DType::kFloat32, shape),
               slopes = *Tensor::Zeros(DType::kFloat32, {channels});
  for (auto _ : state) {
    const absl::Status status = pass == Pass::kForward ? prelu->Forward(x, slopes, dy)
                                : pass == Pass::kBackward
                                    ? prelu->Backward(x, slopes, dy, dy, false)
                                    : prelu->SlopeGradient(x, dy, slopes);
    if (!status.ok()) state.SkipWithError("failed");
  }
  // The terms of the sums are written and read again.
  const int64_t tensors = pass == Pass::kForward ? 2 : pass == Pass::kBackward ? 3 : 4;
  state.SetBytesProcessed(state.iterations() * x.num_elements() * int64_t(sizeof(float)) * tensors);
}

void Shapes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"n", "hw", "c"})->UseRealTime();
  benchmark->Args({64, 28, 8})->Args({64, 14, 32})->Args({64, 1, 1000})->Args({64, 64, 64});
}

void BM_PReluForwardNHWC(benchmark::State& s) { Run(s, TensorFormat::kNHWC, Pass::kForward); }
void BM_PReluForwardNCHW(benchmark::State& s) { Run(s, TensorFormat::kNCHW, Pass::kForward); }
void BM_PReluBackwardNHWC(benchmark::State& s) { Run(s, TensorFormat::kNHWC, Pass::kBackward); }
void BM_PReluBackwardNCHW(benchmark::State& s) { Run(s, TensorFormat::kNCHW, Pass::kBackward); }
void BM_PReluSlopesNHWC(benchmark::State& s) { Run(s, TensorFormat::kNHWC, Pass::kSlopes); }
void BM_PReluSlopesNCHW(benchmark::State& s) { Run(s, TensorFormat::kNCHW, Pass::kSlopes); }
BENCHMARK(BM_PReluForwardNHWC)->Apply(Shapes);
BENCHMARK(BM_PReluForwardNCHW)->Apply(Shapes);
BENCHMARK(BM_PReluBackwardNHWC)->Apply(Shapes);
BENCHMARK(BM_PReluBackwardNCHW)->Apply(Shapes);
BENCHMARK(BM_PReluSlopesNHWC)->Apply(Shapes);
BENCHMARK(BM_PReluSlopesNCHW)->Apply(Shapes);

}  // namespace
}  // namespace dtnn
