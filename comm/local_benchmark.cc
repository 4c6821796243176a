// All-reduce between threads. algbw: bytes of the tensor per second; busbw: algbw * 2(p-1)/p, the
// traffic per rank that any all-reduce needs, which makes numbers of ranks comparable.

#include <cstring>

#include "benchmark/benchmark.h"
#include "comm/local.h"

namespace dtnn {
namespace {

void BM_LocalAllReduce(benchmark::State& state) {
  const int ranks = int(state.range(0));
  const int64_t bytes = state.range(1);
  constexpr int kInner = 4;  // collectives per round: the threads' start is not what is measured
  const absl::Status status = RunRanks(ranks, [&](Communicator& c) -> absl::Status {
    const absl::StatusOr<Tensor> x = Tensor::Zeros(DType::kFloat32, {bytes / 4});
    const absl::StatusOr<Tensor> more = Tensor::Zeros(DType::kUint8, {1});
    if (!x.ok() || !more.ok()) return absl::ResourceExhaustedError("no memory");
    // Rank 0 owns the clock and tells the others whether there is another round.
    const auto round = [&](bool go_on) -> absl::StatusOr<bool> {
      *more->data<uint8_t>() = go_on;
      if (absl::Status s = c.Broadcast(*more, 0); !s.ok()) return s;
      if (*more->data<uint8_t>() == 0) return false;
      for (int i = 0; i < kInner; ++i) {
        if (absl::Status s = c.AllReduce(*x); !s.ok()) return s;
      }
      return true;
    };
    absl::StatusOr<bool> go_on = true;
    if (c.rank() == 0) {
      for (auto _ : state) {
        if (go_on = round(true); !go_on.ok()) return go_on.status();
      }
      return round(false).status();
    }
    while (go_on.ok() && *go_on) go_on = round(true);
    return go_on.status();
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
