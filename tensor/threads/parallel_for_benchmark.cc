// What it costs to start and join the threads: the least work that is worth sharing.

#include <cstdint>

#include "benchmark/benchmark.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

void BM_ParallelForEmptyBody(benchmark::State& state) {
  SetNumThreads(int(state.range(0)));
  for (auto _ : state) {
    ParallelFor(0, state.range(0), 1,
                [](int64_t begin, int64_t) { benchmark::DoNotOptimize(begin); });
  }
}
BENCHMARK(BM_ParallelForEmptyBody)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime();

}  // namespace
}  // namespace dtnn
