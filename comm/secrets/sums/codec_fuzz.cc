// Any bytes as bodies and messages of every codec. The first byte says which; a body that is
// refused must leave the sum as it was, one that is taken must give a sum that clients can decode.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "comm/secrets/sums/authenticated.h"
#include "comm/secrets/sums/encrypted_codec.h"
#include "comm/secrets/sums/masked_codec.h"
#include "comm/secrets/sums/packed_codec.h"
#include "comm/secrets/sums/plain_codec.h"
#include "tensor/must.h"
#include "tensor/philox.h"

namespace {

using namespace dtnn;
using namespace dtnn::codec;

constexpr ChunkId kChunk{9, 1};
constexpr size_t kValues = 6;
constexpr int kClients = 3;

void Check(bool holds) {
  if (!holds) std::abort();
}

// So small that many inputs are tried.
CkksContextPointer Context(int log2_scale) {
  return Must(
      ckks::CkksContext::Create({.log2_degree = 3, .log2_scale = log2_scale, .security = 0}));
}

struct Codec {
  std::unique_ptr<ClientCodec> client;  // of codecs whose sums a client alone can decode
  std::unique_ptr<ServerCodec> server;
};

std::vector<Codec> MakeAll() {
  std::vector<Codec> all;
  for (const WireType type : {WireType::kFloat32, WireType::kFloat16, WireType::kBfloat16}) {
    all.push_back({Must(PlainClient(type, kValues)), Must(PlainServer(type, kValues))});
  }
  const CkksContextPointer small = Context(40);
  all.push_back({Must(CkksClient(small, kClients, Secret())), Must(CkksServer(small, kClients))});
  all.push_back({nullptr, Must(ThresholdCodecServer(Context(61), kClients))});
  static masked::MaskedServer server =
      Must(masked::MaskedServer::Create({.clients = kClients, .round = kChunk.round}));
  const MaskedCodecOptions options = {.parameters = {.clients = kClients, .round = kChunk.round},
                                      .chunk_values = kValues};
  all.push_back({nullptr, Must(MaskedCodecServer(options, server))});
  for (const Packing packing :
       {Packing::kBfloat16, Packing::kFloat16, Packing::kInt8, Packing::kSparse}) {
    // The chunk has four numbers that are packed, and two that are not.
    const PackedOptions packed = {
        .packing = packing, .chunk_values = kValues, .packed_values = kValues + 4};
    all.push_back({Must(PackedClient(packed, Philox(1, 2))), Must(PackedServer(packed))});
  }
  return all;
}

std::vector<std::unique_ptr<UpdateServer>> MakeServers() {
  std::vector<std::unique_ptr<UpdateServer>> servers;
  for (Codec& codec : MakeAll()) {
    servers.push_back(std::make_unique<UpdateServer>(std::move(codec.server), Secret()));
  }
  return servers;
}

// The result of what was added, or the question before it.
absl::StatusOr<Bytes> Outcome(ServerCodec& codec, ChunkSum& sum) {
  return codec.asks() ? sum.Question() : sum.Result();
}

void TryBody(const Codec& codec, std::span<const uint8_t> body) {
  const std::unique_ptr<ChunkSum> sum = Must(codec.server->NewSum(kChunk, kValues));
  const absl::StatusOr<Bytes> before = Outcome(*codec.server, *sum);
  const bool added = sum->Add(0, body).ok();
  const absl::StatusOr<Bytes> after = Outcome(*codec.server, *sum);
  if (!added) {
    Check(before.ok() == after.ok() && (!before.ok() || *before == *after));
  } else if (codec.client != nullptr && after.ok()) {
    Check(after->size() <= codec.server->description().most_bytes);
    std::vector<float> values(kValues);
    if (codec.client->Decode(kChunk, *after, values).ok()) {
      Check(std::ranges::all_of(values, [](float x) { return std::isfinite(x); }));
    }
  }
  (void)sum->AddAnswer(0, body);
  std::vector<float> values(kValues);
  if (codec.client == nullptr) return;
  (void)codec.client->Decode(kChunk, body, values);
  (void)codec.client->Answer(kChunk, body);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<Codec> codecs = MakeAll();
  static const std::vector<std::unique_ptr<UpdateServer>> servers = MakeServers();
  if (size == 0) return 0;
  const size_t which = data[0] % codecs.size();
  const std::span<const uint8_t> bytes(data + 1, size - 1);
  TryBody(codecs[which], bytes);
  UpdateSum sum = Must(servers[which]->NewSum(kChunk, kValues));
  if (sum.Add(0, bytes).ok()) Check(sum.added().contains(0));
  (void)sum.AddAnswer(0, bytes);
  return 0;
}
