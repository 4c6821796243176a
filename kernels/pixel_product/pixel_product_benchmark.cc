// GFLOP/s and the share of the machine's FMA peak (measured at start, on as many threads): the
// three products of attention over small and large maps, with one head and several.

#include "benchmark/benchmark.h"
#include "kernels/peak/peak.h"
#include "kernels/pixel_product/pixel_product.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

enum class Which { kScores, kWeigh, kGather };

void Run(benchmark::State& state, TensorFormat format, DType dtype, Which which) {
  static const double peak = MeasureFmaPeakGflops(NumThreads(), DType::kFloat32);
  constexpr int64_t kBatch = 8;
  const int64_t extent = state.range(0), channels = state.range(1);
  const ImageExtents image = {extent, extent, channels};
  const PixelProductSpec spec = {.x = image,
                                 .y = image,
                                 .heads = state.range(2),
                                 .factor = 0.125,
                                 .format = format,
                                 .dtype = dtype};
  const auto context = *DeviceContext::Create(Device::Cpu());
  const auto product = *CreatePixelProduct(*context, spec);
  const auto make = [&](const ImageExtents& of) {
    return *Tensor::Zeros(dtype, SampleShape(of, format).Prepend(kBatch));
  };
  const Tensor x = make(spec.x), y = make(spec.y), s = make(spec.s());
  const auto memory = *Buffer::Allocate(Device::Cpu(), product->workspace_bytes());
  const Workspace workspace = {memory->data(), memory->size()};
  for (auto _ : state) {
    const absl::Status status = which == Which::kScores ? product->Scores(x, y, s, false, workspace)
                                : which == Which::kWeigh
                                    ? product->Weigh(s, y, x, false, workspace)
                                    : product->Gather(s, x, y, false, workspace);
    if (!status.ok()) state.SkipWithError("failed");
  }
  const double pixels = double(extent * extent);
  const double gflop =
      2e-9 * pixels * pixels * double(channels * kBatch) * double(state.iterations());
  using benchmark::Counter;
  state.counters["GFLOP/s"] = Counter(gflop, Counter::kIsRate);
  state.counters["%peak"] = Counter(100 * gflop / peak, Counter::kIsRate);
}

void Shapes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"hw", "c", "heads"})->UseRealTime();
  benchmark->Args({8, 64, 1})->Args({8, 128, 4})->Args({16, 32, 1})->Args({16, 256, 8});
  benchmark->Args({32, 64, 1});
}

constexpr auto kNHWC = TensorFormat::kNHWC, kNCHW = TensorFormat::kNCHW;
constexpr auto kFloat = DType::kFloat32, kHalf = DType::kBfloat16;
void BM_ScoresNHWC(benchmark::State& s) { Run(s, kNHWC, kFloat, Which::kScores); }
void BM_ScoresNCHW(benchmark::State& s) { Run(s, kNCHW, kFloat, Which::kScores); }
void BM_WeighNHWC(benchmark::State& s) { Run(s, kNHWC, kFloat, Which::kWeigh); }
void BM_WeighNCHW(benchmark::State& s) { Run(s, kNCHW, kFloat, Which::kWeigh); }
void BM_GatherNHWC(benchmark::State& s) { Run(s, kNHWC, kFloat, Which::kGather); }
void BM_GatherNCHW(benchmark::State& s) { Run(s, kNCHW, kFloat, Which::kGather); }
void BM_ScoresBfloat16(benchmark::State& s) { Run(s, kNHWC, kHalf, Which::kScores); }
void BM_WeighBfloat16(benchmark::State& s) { Run(s, kNHWC, kHalf, Which::kWeigh); }
BENCHMARK(BM_ScoresNHWC)->Apply(Shapes);
BENCHMARK(BM_ScoresNCHW)->Apply(Shapes);
BENCHMARK(BM_WeighNHWC)->Apply(Shapes);
BENCHMARK(BM_WeighNCHW)->Apply(Shapes);
BENCHMARK(BM_GatherNHWC)->Apply(Shapes);
BENCHMARK(BM_GatherNCHW)->Apply(Shapes);
BENCHMARK(BM_ScoresBfloat16)->Apply(Shapes);
BENCHMARK(BM_WeighBfloat16)->Apply(Shapes);

}  // namespace
}  // namespace dtnn
