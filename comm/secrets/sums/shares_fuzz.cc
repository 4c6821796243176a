// Any bytes as what one of three clients gives at the end of a sum that the others made by the
// rules: its shares of the secrets behind masks, or its part of a decryption. The first byte says
// which. Masks come off all the same, since the shares of the others suffice; a decryption is
// refused, or gives numbers.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "comm/secrets/ckks/threshold.h"
#include "comm/secrets/sums/encrypted_codec.h"
#include "comm/secrets/sums/masked_codec.h"
#include "tensor/must.h"

namespace {

using namespace dtnn;
using namespace dtnn::codec;

constexpr int kClients = 3, kLiar = 0;
constexpr ChunkId kChunk{9, 1};
constexpr size_t kValues = 6;
constexpr float kSum = 1 + 2 + 3;

void Check(bool holds) {
  if (!holds) std::abort();
}

std::vector<float> NumbersOf(int client) { return std::vector<float>(kValues, float(client) + 1); }

// All updates are there, and the other clients have revealed their shares.
class MaskedSum {
 public:
  MaskedSum() : server_(Must(masked::MaskedServer::Create(options_.parameters))) {
    std::vector<masked::MaskedClient> clients;
    for (int i = 0; i < kClients; ++i) {
      clients.push_back(Must(masked::MaskedClient::Create(options_.parameters, i)));
      Must(server_.AddAdvertisement(clients.back().advertisement()));
    }
    for (int i = 0; i < kClients; ++i) {
      Must(server_.AddShares(i, Must(clients[size_t(i)].Share(server_.advertised()))));
    }
    server_.FixParticipants();
    const std::vector<int> all = {0, 1, 2};
    Must(server_.SetSurvivors(all));
    for (int i = 0; i < kClients; ++i) {
      masked::MaskedClient& client = clients[size_t(i)];
      Must(client.Receive(server_.SharesFor(i)));
      const auto codec = Must(MaskedCodecClient(options_, client));
      bodies_.push_back(Must(codec->Encode(kChunk, NumbersOf(i))));
      const masked::Reveal reveal = Must(client.RevealShares(all));
      if (i != kLiar) Must(server_.AddReveal(reveal));
    }
  }

  void Try(std::span<const uint8_t> bytes) const {
    const auto reveal = masked::RevealFromBytes(options_.parameters, bytes);
    masked::MaskedServer server = server_;
    if (reveal.ok() && reveal->client == kLiar) (void)server.AddReveal(*reveal);
    Check(server.Rebuild().ok());
    for (const masked::MaskedServer::WrongShare& share : server.wrong_shares()) {
      Check(share.from == kLiar);
    }
    const auto codec = Must(MaskedCodecServer(options_, server));
    const std::unique_ptr<ChunkSum> sum = Must(codec->NewSum(kChunk, kValues));
    for (int i = 0; i < kClients; ++i) Must(sum->Add(i, bodies_[size_t(i)]));
    std::vector<float> values(kValues);
    Must(sum->Read(values));
    Check(std::ranges::all_of(values, [](float x) { return std::abs(x - kSum) < 1e-4f; }));
  }

 private:
  const MaskedCodecOptions options_ = {
      .parameters = {.clients = kClients, .threshold = 2, .round = kChunk.round},
      .chunk_values = kValues};
  masked::MaskedServer server_;
  std::vector<Bytes> bodies_;
};

// The other clients have given their parts.
class ThresholdSum {
 public:
  ThresholdSum() {
    const ckks::ThresholdParameters parameters = {.clients = kClients, .decryptions = 1};
    std::vector<ckks::ThresholdClient> members;
    std::vector<Hash> commitments;
    std::vector<Bytes> shares;
    for (int i = 0; i < kClients; ++i) {
      members.push_back(Must(ckks::ThresholdClient::Create(*context_, parameters, i, seed_)));
      commitments.push_back(members.back().commitment());
      shares.push_back(members.back().share());
    }
    commitment_ = commitments[kLiar];
    std::vector<std::unique_ptr<ClientCodec>> codecs;
    for (int i = 0; i < kClients; ++i) {
      codecs.push_back(Must(ThresholdCodecClient(
          context_, kClients, std::move(members[size_t(i)]),
          Must(JoinKeyShares(*context_, seed_, commitments, shares)), Secret())));
      bodies_.push_back(Must(codecs.back()->Encode(kChunk, NumbersOf(i))));
    }
    const Bytes question = Must(NewSum()->Question());
    for (const auto& codec : codecs) answers_.push_back(Must(codec->Answer(kChunk, question)));
    std::vector<float> values(kValues);
    Must(Read(answers_[kLiar], values));
    Check(std::ranges::all_of(values, [](float x) { return std::abs(x - kSum) < 1e-3f; }));
  }

  void Try(std::span<const uint8_t> bytes) const {
    (void)ckks::CheckKeyShare(*context_, seed_, kLiar, commitment_, bytes);
    std::vector<float> values(kValues);
    if (!Read(bytes, values).ok()) return;
    Check(std::ranges::all_of(values, [](float x) { return std::isfinite(x); }));
  }

 private:
  std::unique_ptr<ChunkSum> NewSum() const {
    std::unique_ptr<ChunkSum> sum = Must(server_->NewSum(kChunk, kValues));
    for (int i = 0; i < kClients; ++i) Must(sum->Add(i, bodies_[size_t(i)]));
    return sum;
  }
  absl::Status Read(std::span<const uint8_t> answer, std::span<float> values) const {
    const std::unique_ptr<ChunkSum> sum = NewSum();
    Must(sum->Question());
    const absl::Status taken = sum->AddAnswer(kLiar, answer);
    for (int i = 0; i < kClients; ++i) {
      if (i != kLiar) Must(sum->AddAnswer(i, answers_[size_t(i)]));
    }
    const absl::Status read = sum->Read(values);
    return taken.ok() ? read : taken;
  }

  // So small that many inputs are tried.
  const CkksContextPointer context_ =
      Must(ckks::CkksContext::Create({.log2_degree = 3, .log2_scale = 61, .security = 0}));
  const std::unique_ptr<ServerCodec> server_ = Must(ThresholdCodecServer(context_, kClients));
  const ckks::Seed seed_{};
  Hash commitment_{};
  std::vector<Bytes> bodies_, answers_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const MaskedSum masked;
  static const ThresholdSum threshold;
  if (size == 0) return 0;
  const std::span<const uint8_t> bytes(data + 1, size - 1);
  if (data[0] % 2 == 0) {
    masked.Try(bytes);
  } else {
    threshold.Try(bytes);
  }
  return 0;
}
