// All-reduce between threads. algbw: bytes of the tensor per second; busbw: algbw * 2(p-1)/p, the
// traffic per rank that any all-reduce needs, which makes numbers of ranks comparable.

#include <cstring>

#include "benchmark/benchmark.h"
#include "comm/local.h"
#include "comm/testing/rounds.h"

namespace dtnn {
namespace {

void BM_LocalAllReduce(benchmark::State& state) {
  const int ranks = int(state.range(0));
  const int64_t bytes = state.range(1);
  constexpr int kInner = 4;  // collectives per round: the threads' start is not what is measured
  const absl::Status status = RunRanks(ranks, [&](Communicator& c) -> absl::Status {
    const absl::StatusOr<Tensor> x = Tensor::Zeros(DType::kFloat32, {bytes / 4});
    if (!x.ok()) return x.status();
    return testing::RunRounds(state, c, [&] {
      absl::Status s;
      for (int i = 0; i < kInner && s.ok(); ++i) s = c.AllReduce(*x);
      return s;
    });
  });
  if (!status.ok()) state.SkipWithError(std::string(status.message()).c_str());
  const double total = double(bytes) * kInner * double(state.iterations());
  state.counters["algbw_GB/s"] = benchmark::Counter(total * 1e-9, benchmark::Counter::kIsRate);
  state.counters["busbw_GB/s"] =
      benchmark::Counter(total * 1e-9 * 2 * (ranks - 1) / ranks, benchmark::Counter::kIsRate);
}

BENCHMARK(BM_LocalAllReduce)
    ->ArgNames({"ranks", "bytes"})
    ->ArgsProduct({{2}, {4 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20}})
    ->UseRealTime();

}  // namespace
}  // namespace dtnn
