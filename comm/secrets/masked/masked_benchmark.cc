#include <cstdint>
#include <span>
#include <vector>

#include "benchmark/benchmark.h"
#include "comm/secrets/crypto/random_secret.h"
#include "comm/secrets/masked/fixed_point.h"
#include "comm/secrets/masked/masked_client.h"
#include "comm/secrets/masked/masked_server.h"
#include "comm/secrets/masked/masks.h"
#include "tensor/must.h"

namespace dtnn::masked {
namespace {

// A round of the given number of clients, up to where they mask.
std::vector<MaskedClient> ReadyClients(const MaskedParameters& p) {
  MaskedServer server = Must(MaskedServer::Create(p));
  std::vector<MaskedClient> clients;
  for (int i = 0; i < p.clients; ++i) {
    clients.push_back(Must(MaskedClient::Create(p, i)));
    Must(server.AddAdvertisement(clients.back().advertisement()));
  }
  for (int i = 0; i < p.clients; ++i) {
    Must(server.AddShares(i, Must(clients[size_t(i)].Share(server.advertised()))));
  }
  for (int i = 0; i < p.clients; ++i) Must(clients[size_t(i)].Receive(server.SharesFor(i)));
  return clients;
}

void BM_SetUp(benchmark::State& state) {
  const MaskedParameters p{.clients = int(state.range(0))};
  for (auto _ : state) benchmark::DoNotOptimize(ReadyClients(p));
}
BENCHMARK(BM_SetUp)->Arg(4)->Arg(30)->Unit(benchmark::kMillisecond);

// A mask of one chunk, drawn and added: bytes per second, as BM_ChaCha20Stream of ../crypto, which
// draws alone.
void BM_AddMask(benchmark::State& state) {
  const Secret seed = Must(RandomSecret());
  std::vector<uint32_t> words(size_t(state.range(0)));
  uint64_t chunk = 0;
  for (auto _ : state) Must(AddMask(seed, chunk++, Sign::kPlus, std::span(words)));
  state.SetBytesProcessed(state.iterations() * int64_t(words.size() * sizeof(uint32_t)));
}
BENCHMARK(BM_AddMask)->Arg(4096)->Arg(1 << 16);

void BM_Mask(benchmark::State& state) {
  std::vector<MaskedClient> clients = ReadyClients({.clients = int(state.range(0))});
  std::vector<float> values(1 << 16, 0.25f);
  std::vector<uint32_t> words(values.size());
  uint64_t chunk = 0;
  for (auto _ : state) {
    Must(ToFixedPoint(std::span<const float>(values), 20, 16, std::span(words)));
    Must(clients[0].Mask(chunk++, std::span(words)));
  }
  state.SetItemsProcessed(state.iterations() * int64_t(words.size()));
}
BENCHMARK(BM_Mask)->Arg(4)->Arg(30);

}  // namespace
}  // namespace dtnn::masked
