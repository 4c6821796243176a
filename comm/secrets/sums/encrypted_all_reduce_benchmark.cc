// An encrypted sum between threads, and the all-reduce of the same numbers without encryption. All
// ranks share the processors, so the time is that of all their encrypting, adding and decrypting.

#include <memory>
#include <string>

#include "benchmark/benchmark.h"
#include "comm/local.h"
#include "comm/secrets/sums/encrypted_all_reduce.h"
#include "comm/testing/rounds.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

void BM_EncryptedAllReduce(benchmark::State& state) {
  const int ranks = int(state.range(0));
  const int64_t elements = state.range(1);
  const bool encrypted = state.range(2) != 0;
  const absl::Status status = RunRanks(ranks, [&](Communicator& c) -> absl::Status {
    DTNN_ASSIGN_OR_RETURN(const Tensor numbers, Tensor::Zeros(DType::kFloat32, {elements}));
    DTNN_ASSIGN_OR_RETURN(const auto sum, EncryptedAllReduce::Create(c, {}, Secret()));
    return testing::RunRounds(state, c,
                              [&] { return encrypted ? sum->Sum(numbers) : c.AllReduce(numbers); });
  });
  if (!status.ok()) state.SkipWithError(std::string(status.message()).c_str());
  state.SetItemsProcessed(state.iterations() * elements);
}

BENCHMARK(BM_EncryptedAllReduce)
    ->ArgNames({"ranks", "numbers", "encrypted"})
    ->ArgsProduct({{2, 4}, {1'000'000}, {0, 1}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace dtnn
