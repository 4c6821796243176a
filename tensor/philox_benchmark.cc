// Random numbers per second of one thread.

#include <cstdint>

#include "benchmark/benchmark.h"
#include "tensor/philox.h"

namespace dtnn {
namespace {

constexpr uint64_t kNumbers = 1 << 16;

void SetRate(benchmark::State& state) {
  state.counters["numbers/s"] =
      benchmark::Counter(double(state.iterations()) * kNumbers, benchmark::Counter::kIsRate);
}

void BM_PhiloxBlock(benchmark::State& state) {
  const Philox random(1, 2);
  for (auto _ : state) {
    uint32_t sum = 0;
    for (uint64_t block = 0; block < kNumbers / 4; ++block) {
      const std::array<uint32_t, 4> bits = random.Block(block);
      sum += bits[0] ^ bits[1] ^ bits[2] ^ bits[3];
    }
    benchmark::DoNotOptimize(sum);
  }
  SetRate(state);
}
BENCHMARK(BM_PhiloxBlock);

// One by one: each costs a whole block.
void BM_PhiloxUniform(benchmark::State& state) {
  const Philox random(1, 2);
  for (auto _ : state) {
    double sum = 0;
    for (uint64_t i = 0; i < kNumbers; ++i) sum += random.Uniform(i);
    benchmark::DoNotOptimize(sum);
  }
  SetRate(state);
}
BENCHMARK(BM_PhiloxUniform);

}  // namespace
}  // namespace dtnn
