// What one chunk costs a client and the server, by codec, tags included, and how many bytes a value
// takes on the wire.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "benchmark/benchmark.h"
#include "comm/secrets/crypto/random_secret.h"
#include "comm/secrets/sums/authenticated.h"
#include "comm/secrets/sums/encrypted_codec.h"
#include "comm/secrets/sums/masked_codec.h"
#include "comm/secrets/sums/plain_codec.h"
#include "tensor/must.h"

namespace dtnn::codec {
namespace {

constexpr int kClients = 8;
constexpr uint64_t kRound = 1;

// Client 0 and the server.
struct Sides {
  std::unique_ptr<UpdateClient> client;
  std::unique_ptr<UpdateServer> server;
  std::vector<masked::MaskedClient> masked_clients;
  std::unique_ptr<masked::MaskedServer> masked_server;
};

void Finish(Sides& sides, std::unique_ptr<ClientCodec> client,
            std::unique_ptr<ServerCodec> server) {
  const Secret job = Must(RandomSecret());
  sides.client = std::make_unique<UpdateClient>(std::move(client), 0, Must(ClientTagKey(job, 0)),
                                                Must(ServerTagKey(job)));
  sides.server = std::make_unique<UpdateServer>(std::move(server), job);
}

template <WireType type>
std::unique_ptr<Sides> Plain() {
  constexpr size_t kValues = size_t{1} << 13;
  auto sides = std::make_unique<Sides>();
  Finish(*sides, Must(PlainClient(type, kValues)), Must(PlainServer(type, kValues)));
  return sides;
}

std::unique_ptr<Sides> Ckks() {
  auto sides = std::make_unique<Sides>();
  const CkksContextPointer context = Must(ckks::CkksContext::Create({}));
  Finish(*sides, Must(CkksClient(context, kClients, Must(RandomSecret()))),
         Must(CkksServer(context, kClients)));
  return sides;
}

std::unique_ptr<Sides> Threshold() {
  auto sides = std::make_unique<Sides>();
  const CkksContextPointer context = Must(ckks::CkksContext::Create(ckks::DefaultThresholdCkks()));
  const ckks::ThresholdParameters threshold{.clients = kClients};
  const ckks::Seed seed{};
  std::vector<ckks::ThresholdClient> members;
  std::vector<Hash> commitments;
  std::vector<Bytes> shares;
  for (int i = 0; i < kClients; ++i) {
    members.push_back(Must(ckks::ThresholdClient::Create(*context, threshold, i, seed)));
    commitments.push_back(members.back().commitment());
    shares.push_back(members.back().share());
  }
  Finish(*sides,
         Must(ThresholdCodecClient(context, kClients, std::move(members[0]),
                                   Must(JoinKeyShares(*context, seed, commitments, shares)),
                                   Secret())),
         Must(ThresholdCodecServer(context, kClients)));
  return sides;
}

std::unique_ptr<Sides> Masked() {
  auto sides = std::make_unique<Sides>();
  const MaskedCodecOptions options{.parameters = {.clients = kClients, .round = kRound},
                                   .chunk_values = size_t{1} << 13};
  sides->masked_server = std::make_unique<masked::MaskedServer>(
      Must(masked::MaskedServer::Create(options.parameters)));
  masked::MaskedServer& server = *sides->masked_server;
  auto& clients = sides->masked_clients;
  for (int i = 0; i < kClients; ++i) {
    clients.push_back(Must(masked::MaskedClient::Create(options.parameters, i)));
    Must(server.AddAdvertisement(clients.back().advertisement()));
  }
  for (int i = 0; i < kClients; ++i) {
    Must(server.AddShares(i, Must(clients[size_t(i)].Share(server.advertised()))));
  }
  server.FixParticipants();
  for (int i = 0; i < kClients; ++i) Must(clients[size_t(i)].Receive(server.SharesFor(i)));
  Finish(*sides, Must(MaskedCodecClient(options, clients[0])),
         Must(MaskedCodecServer(options, server)));
  return sides;
}

using MakeSides = std::unique_ptr<Sides> (*)();

std::vector<float> Values(const Sides& sides) {
  return std::vector<float>(sides.client->description().chunk_values, 0.25f);
}

void BM_Encode(benchmark::State& state, MakeSides make) {
  const std::unique_ptr<Sides> sides = make();
  const std::vector<float> values = Values(*sides);
  uint32_t chunk = 0;
  size_t bytes = 0;
  for (auto _ : state) bytes = Must(sides->client->Encode({kRound, chunk++}, values)).size();
  state.SetItemsProcessed(state.iterations() * int64_t(values.size()));
  state.counters["bytes/value"] = double(bytes) / double(values.size());
}

// A sum of one: what each client's message costs, and a new sum.
void BM_Add(benchmark::State& state, MakeSides make) {
  const std::unique_ptr<Sides> sides = make();
  const std::vector<float> values = Values(*sides);
  const ChunkId id{kRound, 0};
  const Bytes message = Must(sides->client->Encode(id, values));
  for (auto _ : state) {
    UpdateSum sum = Must(sides->server->NewSum(id, values.size()));
    Must(sum.Add(0, message));
    benchmark::DoNotOptimize(sum.added());
  }
  state.SetItemsProcessed(state.iterations() * int64_t(values.size()));
}

// For codecs whose results one client can read by itself.
void BM_Decode(benchmark::State& state, MakeSides make) {
  const std::unique_ptr<Sides> sides = make();
  std::vector<float> values = Values(*sides);
  const ChunkId id{kRound, 0};
  UpdateSum sum = Must(sides->server->NewSum(id, values.size()));
  Must(sum.Add(0, Must(sides->client->Encode(id, values))));
  const Bytes result = Must(sum.Result());
  for (auto _ : state) Must(sides->client->Decode(id, result, values));
  state.SetItemsProcessed(state.iterations() * int64_t(values.size()));
}

#define DTNN_CODECS(benchmark)                                    \
  BENCHMARK_CAPTURE(benchmark, plain, Plain<WireType::kFloat32>); \
  BENCHMARK_CAPTURE(benchmark, fp16, Plain<WireType::kFloat16>);  \
  BENCHMARK_CAPTURE(benchmark, bf16, Plain<WireType::kBfloat16>); \
  BENCHMARK_CAPTURE(benchmark, ckks, Ckks)
DTNN_CODECS(BM_Encode);
BENCHMARK_CAPTURE(BM_Encode, threshold, Threshold);
BENCHMARK_CAPTURE(BM_Encode, masked, Masked);
DTNN_CODECS(BM_Add);
BENCHMARK_CAPTURE(BM_Add, threshold, Threshold);
BENCHMARK_CAPTURE(BM_Add, masked, Masked);
DTNN_CODECS(BM_Decode);
#undef DTNN_CODECS

}  // namespace
}  // namespace dtnn::codec
