// Bytes read and written per second. The 64 images of a batch stay in the cache, the large case
// does not.

#include <cstdint>
#include <vector>

#include "benchmark/benchmark.h"
#include "kernels/convert/convert.h"
#include "kernels/convert/reference.h"

namespace dtnn {
namespace {

template <typename T>
void Count(benchmark::State& state) {
  const double bytes = double(state.range(0)) * (1 + sizeof(T)) * double(state.iterations());
  state.counters["GB/s"] = benchmark::Counter(bytes * 1e-9, benchmark::Counter::kIsRate);
}

template <typename T>
void BM_ConvertBytes(benchmark::State& state) {
  std::vector<uint8_t> from(state.range(0), 99);
  std::vector<T> to(state.range(0));
  for (auto _ : state) {
    ConvertBytes(from, T(1) / 255, to);
    benchmark::ClobberMemory();
  }
  Count<T>(state);
}

template <typename T>
void BM_ConvertBytesReference(benchmark::State& state) {
  std::vector<uint8_t> from(state.range(0), 99);
  std::vector<T> to(state.range(0));
  for (auto _ : state) {
    reference::ConvertBytes<T>(from, T(1) / 255, to);
    benchmark::ClobberMemory();
  }
  Count<T>(state);
}

constexpr int64_t kImage = 28 * 28;
constexpr int64_t kBatch = 64 * kImage;
constexpr int64_t kLarge = int64_t{64} * 3 * 224 * 224;

BENCHMARK(BM_ConvertBytes<float>)->Arg(kImage)->Arg(kBatch)->Arg(kLarge);
BENCHMARK(BM_ConvertBytes<double>)->Arg(kImage)->Arg(kBatch)->Arg(kLarge);
BENCHMARK(BM_ConvertBytesReference<float>)->Arg(kImage)->Arg(kBatch)->Arg(kLarge);
BENCHMARK(BM_ConvertBytesReference<double>)->Arg(kImage)->Arg(kBatch)->Arg(kLarge);

}  // namespace
}  // namespace dtnn
