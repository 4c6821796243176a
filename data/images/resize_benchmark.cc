// Bytes of source per second that ResizeBilinear turns into a square, in both formats, for a photo
// of ImageNet's usual extents, and as a data set of small images is enlarged.
//
//   BM_Resize/<format>/<from height>/<from width>/<to side>

#include <cstdint>
#include <vector>

#include "benchmark/benchmark.h"
#include "data/images/resize.h"

namespace dtnn {
namespace {

template <typename T>
void BM_Resize(benchmark::State& state) {
  const auto format = TensorFormat(state.range(0));
  const ImageExtents extents = {state.range(1), state.range(2), 3};
  const int64_t side = state.range(3);
  std::vector<T> from(extents.height * extents.width * 3), to(side * side * 3);
  for (size_t i = 0; i < from.size(); ++i) from[i] = T(i * i % 251);
  const Window all = {0, 0, extents.height, extents.width};
  for (auto _ : state) {
    ResizeBilinear(from, extents, format, all, side, side, std::span<T>(to));
    benchmark::DoNotOptimize(to[0]);
  }
  state.SetItemsProcessed(state.iterations());
  state.counters["source_pixels"] = benchmark::Counter(
      double(state.iterations() * extents.height * extents.width), benchmark::Counter::kIsRate);
}

void Cases(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"format", "height", "width", "side"})->Unit(benchmark::kMicrosecond);
  for (int64_t format : {0, 1}) {
    benchmark->Args({format, 375, 500, 224})->Args({format, 250, 333, 224});
    benchmark->Args({format, 32, 32, 64});
  }
}
BENCHMARK_TEMPLATE(BM_Resize, uint8_t)->Apply(Cases);
BENCHMARK_TEMPLATE(BM_Resize, float)->Apply(Cases);

}  // namespace
}  // namespace dtnn
