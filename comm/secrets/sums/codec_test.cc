// All codecs through what programs use: sums over several clients and chunks, and messages that are
// not what they should be.

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>

#include "comm/secrets/crypto/random_secret.h"
#include "comm/secrets/sums/authenticated.h"
#include "comm/secrets/sums/encrypted_codec.h"
#include "comm/secrets/sums/masked_codec.h"
#include "comm/secrets/sums/packed_codec.h"
#include "comm/secrets/sums/plain_codec.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"
#include "tensor/philox.h"

namespace dtnn::codec {
namespace {

using ::testing::HasSubstr;

constexpr int kClients = 3;
constexpr uint64_t kRound = 9;

// Both sides of a codec, ready for one round.
struct Sides {
  std::vector<UpdateClient> clients;
  std::unique_ptr<UpdateServer> server;
  double tolerance = 0;  // of a sum
  // Inside those above, without tags.
  std::vector<ClientCodec*> client_codecs;
  ServerCodec* server_codec = nullptr;
  // What the masked codecs refer to, and how the server gets ready for results.
  std::vector<masked::MaskedClient> masked_clients;
  std::unique_ptr<masked::MaskedServer> masked_server;
  std::function<void()> before_results = [] {};

  void Finish(const Secret& job, std::vector<std::unique_ptr<ClientCodec>> of_clients,
              std::unique_ptr<ServerCodec> of_server) {
    for (int i = 0; i < kClients; ++i) {
      client_codecs.push_back(of_clients[size_t(i)].get());
      clients.emplace_back(std::move(of_clients[size_t(i)]), i, Must(ClientTagKey(job, i)),
                           Must(ServerTagKey(job)));
    }
    server_codec = of_server.get();
    server = std::make_unique<UpdateServer>(std::move(of_server), job);
  }
};

using MakeSides = std::unique_ptr<Sides> (*)(const Secret& job);

template <WireType type>
std::unique_ptr<Sides> Plain(const Secret& job) {
  auto sides = std::make_unique<Sides>();
  std::vector<std::unique_ptr<ClientCodec>> codecs;
  for (int i = 0; i < kClients; ++i) codecs.push_back(Must(PlainClient(type, 1000)));
  sides->Finish(job, std::move(codecs), Must(PlainServer(type, 1000)));
  sides->tolerance = type == WireType::kFloat32   ? 1e-6
                     : type == WireType::kFloat16 ? 3 * 0x1p-11 + 0x1p-10
                                                  : 3 * 0x1p-8 + 0x1p-7;
  return sides;
}

template <Packing packing>
std::unique_ptr<Sides> Packed(const Secret& job) {
  auto sides = std::make_unique<Sides>();
  const PackedOptions options = {.packing = packing, .chunk_values = 4000, .packed_values = 4005};
  std::vector<std::unique_ptr<ClientCodec>> codecs;
  for (int i = 0; i < kClients; ++i) {
    codecs.push_back(Must(PackedClient(options, Philox(uint64_t(i), 0))));
  }
  sides->Finish(job, std::move(codecs), Must(PackedServer(options)));
  sides->tolerance = packing == Packing::kSparse     ? 1e-6
                     : packing == Packing::kFloat16  ? 3 * 0x1p-11
                     : packing == Packing::kBfloat16 ? 3 * 0x1p-8
                                                     : 3.0 / 127 + 1e-6;
  return sides;
}

std::unique_ptr<Sides> Ckks(const Secret& job) {
  auto sides = std::make_unique<Sides>();
  const CkksContextPointer context = Must(ckks::CkksContext::Create({.log2_degree = 12}));
  const Secret seed = Must(RandomSecret());
  std::vector<std::unique_ptr<ClientCodec>> codecs;
  for (int i = 0; i < kClients; ++i) codecs.push_back(Must(CkksClient(context, kClients, seed)));
  sides->Finish(job, std::move(codecs), Must(CkksServer(context, kClients)));
  sides->tolerance = 1e-6;
  return sides;
}

std::unique_ptr<Sides> Threshold(const Secret& job) {
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
  std::vector<std::unique_ptr<ClientCodec>> codecs;
  for (int i = 0; i < kClients; ++i) {
    codecs.push_back(Must(
        ThresholdCodecClient(context, kClients, std::move(members[size_t(i)]),
                             Must(JoinKeyShares(*context, seed, commitments, shares)), Secret())));
  }
  sides->Finish(job, std::move(codecs), Must(ThresholdCodecServer(context, kClients)));
  sides->tolerance = kClients * threshold.tolerance;
  return sides;
}

std::unique_ptr<Sides> Masked(const Secret& job) {
  auto sides = std::make_unique<Sides>();
  const MaskedCodecOptions options{
      .parameters = {.clients = kClients, .threshold = 2, .round = kRound}, .chunk_values = 1000};
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
  std::vector<std::unique_ptr<ClientCodec>> codecs;
  for (int i = 0; i < kClients; ++i) {
    Must(clients[size_t(i)].Receive(server.SharesFor(i)));
    codecs.push_back(Must(MaskedCodecClient(options, clients[size_t(i)])));
  }
  sides->Finish(job, std::move(codecs), Must(MaskedCodecServer(options, server)));
  sides->before_results = [&clients, &server] {
    const std::vector<int> all = {0, 1, 2};
    Must(server.SetSurvivors(all));
    for (auto& client : clients) Must(server.AddReveal(Must(client.RevealShares(all))));
    Must(server.Rebuild());
  };
  sides->tolerance = kClients * 0x1p-20;
  return sides;
}

struct NamedCodec {
  std::string name;
  MakeSides make;
};

class CodecTest : public ::testing::TestWithParam<NamedCodec> {
 protected:
  const Secret job_ = Must(RandomSecret());
  const std::unique_ptr<Sides> sides_ = GetParam().make(job_);
};

INSTANTIATE_TEST_SUITE_P(All, CodecTest,
                         ::testing::Values(NamedCodec{"plain", Plain<WireType::kFloat32>},
                                           NamedCodec{"fp16", Plain<WireType::kFloat16>},
                                           NamedCodec{"bf16", Plain<WireType::kBfloat16>},
                                           NamedCodec{"packed_fp16", Packed<Packing::kFloat16>},
                                           NamedCodec{"packed_bf16", Packed<Packing::kBfloat16>},
                                           NamedCodec{"int8", Packed<Packing::kInt8>},
                                           NamedCodec{"sparse", Packed<Packing::kSparse>},
                                           NamedCodec{"ckks", Ckks},
                                           NamedCodec{"threshold", Threshold},
                                           NamedCodec{"masked", Masked}),
                         [](const auto& info) { return info.param.name; });

std::vector<float> Random(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(count);
  for (float& x : values) x = uniform(random);
  return values;
}

// An update of two and a half chunks; every client gets the sum.
TEST_P(CodecTest, TheSumIsTheSum) {
  const size_t chunk_values = sides_->server->description().chunk_values;
  EXPECT_EQ(sides_->server->description().name, GetParam().name);
  std::map<uint32_t, std::vector<double>> wanted;
  std::map<uint32_t, UpdateSum> sums;
  for (uint32_t chunk = 0; chunk < 3; ++chunk) {
    const ChunkId id{kRound, chunk};
    const size_t count = chunk < 2 ? chunk_values : chunk_values / 2 + 1;
    UpdateSum sum = Must(sides_->server->NewSum(id, count));
    std::vector<double>& total = wanted[chunk];
    total.resize(count);
    for (int i = 0; i < kClients; ++i) {
      const std::vector<float> values = Random(count, 10 * chunk + uint64_t(i));
      const Bytes message = Must(sides_->clients[size_t(i)].Encode(id, values));
      EXPECT_LE(message.size(), MostMessageBytes(sides_->server->description()));
      Must(sum.Add(i, message));
      for (size_t k = 0; k < count; ++k) total[k] += values[k];
    }
    EXPECT_EQ(sum.added().size(), size_t(kClients));
    sums.emplace(chunk, std::move(sum));
  }
  sides_->before_results();
  for (auto& [chunk, sum] : sums) {
    const ChunkId id{kRound, chunk};
    if (sides_->server->asks()) {
      EXPECT_FALSE(sum.Result().ok()) << "before the answers";
      const Bytes question = Must(sum.Question());
      for (int i = 0; i < kClients; ++i) {
        Must(sum.AddAnswer(i, Must(sides_->clients[size_t(i)].Answer(id, question))));
      }
    }
    const Bytes result = Must(sum.Result());
    std::vector<float> read(wanted[chunk].size());
    if (GetParam().name == "ckks") {
      EXPECT_FALSE(sum.Read(read).ok()) << "the server has no key";
    } else {
      Must(sum.Read(read));
      for (size_t k = 0; k < read.size(); ++k) {
        ASSERT_NEAR(read[k], wanted[chunk][k], sides_->tolerance) << k;
      }
      EXPECT_FALSE(sum.Read(std::span(read).first(1)).ok() && read.size() > 1);
    }
    EXPECT_LE(result.size(), MostMessageBytes(sides_->server->description()));
    for (UpdateClient& client : sides_->clients) {
      std::vector<float> values(wanted[chunk].size());
      Must(client.Decode(id, result, values));
      for (size_t k = 0; k < values.size(); ++k) {
        ASSERT_NEAR(values[k], wanted[chunk][k], sides_->tolerance) << chunk << " " << k;
      }
    }
  }
}

TEST_P(CodecTest, AMessageIsBoundToItsPlace) {
  const ChunkId id{kRound, 1};
  const std::vector<float> values = Random(10, 1);
  const Bytes message = Must(sides_->clients[1].Encode(id, values));
  UpdateSum sum = Must(sides_->server->NewSum(id, 10));
  UpdateSum other_chunk = Must(sides_->server->NewSum({kRound, 2}, 10));
  EXPECT_EQ(other_chunk.Add(1, message).code(), absl::StatusCode::kUnauthenticated);
  const absl::Status status = sum.Add(2, message);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("from client 2: says that it is of chunk 1 in round 9, client 1"));
  EXPECT_TRUE(sum.added().empty());
  // An update is not a result.
  std::vector<float> decoded(10);
  EXPECT_EQ(sides_->clients[1].Decode(id, message, decoded).code(), absl::StatusCode::kDataLoss);
  Must(sum.Add(1, message));
  EXPECT_EQ(sum.Add(1, message).code(), absl::StatusCode::kAlreadyExists);
  if (GetParam().name == "masked") return;  // whose server knows one round
  UpdateSum later = Must(sides_->server->NewSum({kRound + 1, 1}, 10));
  EXPECT_EQ(later.Add(1, message).code(), absl::StatusCode::kUnauthenticated);
}

TEST_P(CodecTest, DamagedMessagesAreRefusedByTheirTag) {
  const ChunkId id{kRound, 0};
  const std::vector<float> values = Random(10, 1);
  const Bytes good = Must(sides_->clients[0].Encode(id, values));
  UpdateSum sum = Must(sides_->server->NewSum(id, 10));
  // Every byte of header and tag, and some of the body.
  for (size_t at = 0; at < good.size(); at += at < 80 ? 1 : 1 + good.size() / 50) {
    Bytes bad = good;
    bad[at] ^= 0x10;
    EXPECT_FALSE(sum.Add(0, bad).ok()) << at;
  }
  for (const size_t size : {size_t{0}, size_t{1}, size_t{69}, size_t{70}, good.size() - 1}) {
    EXPECT_FALSE(sum.Add(0, std::span(good).first(size)).ok()) << size;
  }
  const size_t most = MostMessageBytes(sides_->server->description());
  Bytes longer = good;  // as it begins
  longer.resize(most + 1);
  EXPECT_THAT(std::string(sum.Add(0, longer).message()),
              ::testing::EndsWith("has " + std::to_string(most + 1) + " bytes, expected 70 to " +
                                  std::to_string(most)));
  EXPECT_TRUE(sum.added().empty());
  Must(sum.Add(0, good));
}

// Bodies that no honest client sends, with a good tag or none.
TEST_P(CodecTest, BodiesThatAreRefusedDoNotChangeTheSum) {
  const ChunkId id{kRound, 0};
  const auto clean = Must(sides_->server_codec->NewSum(id, 10));
  const auto sum = Must(sides_->server_codec->NewSum(id, 10));
  for (int i = 0; i < kClients; ++i) {
    const Bytes good = Must(sides_->client_codecs[size_t(i)]->Encode(id, Random(10, uint64_t(i))));
    std::vector<Bytes> bad = {{}, {good.begin(), good.end() - 1}, good};
    bad.back().push_back(0);
    if (GetParam().name != "masked" && GetParam().name != "int8") {  // whose bodies are any numbers
      bad.push_back(good);
      std::fill(bad.back().begin() + std::ptrdiff_t(good.size() / 2), bad.back().end(), 0xff);
    }
    for (const Bytes& body : bad) EXPECT_FALSE(sum->Add(i, body).ok()) << body.size();
    Must(sum->Add(i, good));
    Must(clean->Add(i, good));
  }
  sides_->before_results();
  const bool asks = sides_->server_codec->asks();  // for what it has added
  EXPECT_EQ(Must(asks ? sum->Question() : sum->Result()),
            Must(asks ? clean->Question() : clean->Result()));
}

TEST_P(CodecTest, AnotherJobsMessagesAreRefused) {
  const std::unique_ptr<Sides> others = GetParam().make(Must(RandomSecret()));
  const ChunkId id{kRound, 0};
  const std::vector<float> values = Random(10, 1);
  const Bytes message = Must(others->clients[0].Encode(id, values));
  UpdateSum sum = Must(sides_->server->NewSum(id, 10));
  const absl::Status status = sum.Add(0, message);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(std::string(status.message()), HasSubstr("the tag does not fit"));
}

// The names of rounds and the secret are all that tags are bound to: with the same of both, a
// message of an earlier run counts. So a new secret is drawn for every run.
TEST_P(CodecTest, AMessageOfAnEarlierRunWithTheSameSecretIsAccepted) {
  if (GetParam().name == "masked" || GetParam().name == "threshold") {
    GTEST_SKIP() << "these have keys of each round, so an old message makes the sum wrong";
  }
  const std::unique_ptr<Sides> earlier = GetParam().make(job_);
  const ChunkId id{kRound, 0};
  const Bytes message = Must(earlier->clients[0].Encode(id, Random(10, 1)));
  UpdateSum sum = Must(sides_->server->NewSum(id, 10));
  EXPECT_EQ(sum.Add(0, message), absl::OkStatus());
}

// What docs/security.md says of full chunks: bytes per number, to the server and of answers.
TEST_P(CodecTest, MessagesAreAsLongAsThePageSays) {
  const std::map<std::string, double> known = {
      {"plain", 4}, {"fp16", 2},   {"bf16", 2},   {"packed_fp16", 2}, {"packed_bf16", 2},
      {"int8", 1},  {"sparse", 4}, {"ckks", 7.5}, {"masked", 4},      {"threshold", 20.5}};
  const ChunkId id{kRound, 0};
  const size_t count = sides_->server->description().chunk_values;
  UpdateSum sum = Must(sides_->server->NewSum(id, count));
  for (int i = 0; i < kClients; ++i) {
    const Bytes message = Must(sides_->clients[size_t(i)].Encode(id, Random(count, 1)));
    const double wanted = known.at(GetParam().name);
    EXPECT_NEAR(double(message.size()) / double(count), wanted, 0.04 * wanted);
    Must(sum.Add(i, message));
  }
  if (!sides_->server->asks()) return;
  const Bytes answer = Must(sides_->clients[0].Answer(id, Must(sum.Question())));
  EXPECT_NEAR(double(answer.size()) / double(count), 10.3, 0.3);
}

TEST_P(CodecTest, NumbersThatAreNoneAndChunksOfNothingAreRefused) {
  UpdateClient& client = sides_->clients[0];
  for (const float bad : {NAN, INFINITY, -INFINITY}) {
    const std::vector<float> values = {0, bad};
    EXPECT_EQ(client.Encode({kRound, 0}, values).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
  const size_t chunk_values = client.description().chunk_values;
  for (const size_t count : {size_t{0}, chunk_values + 1}) {
    const std::string error = "codec " + std::string(client.description().name) + ": chunk 0 of " +
                              std::to_string(count) + " numbers: chunks have 1 to " +
                              std::to_string(chunk_values);
    EXPECT_EQ(client.Encode({kRound, 0}, std::vector<float>(count)).status().message(), error);
    EXPECT_EQ(sides_->server->NewSum({kRound, 0}, count).status().message(), error);
  }
}

TEST_P(CodecTest, OtherCodecsAndParametersAreFoundOut) {
  const ChunkId id{kRound, 0};
  const std::vector<float> values = Random(10, 1);
  for (const NamedCodec& other :
       {NamedCodec{"plain", Plain<WireType::kFloat32>}, NamedCodec{"masked", Masked}}) {
    if (other.name == GetParam().name) continue;
    const std::unique_ptr<Sides> others = other.make(job_);
    const Bytes message = Must(others->clients[0].Encode(id, values));
    UpdateSum sum = Must(sides_->server->NewSum(id, 10));
    EXPECT_EQ(sum.Add(0, message).code(), absl::StatusCode::kFailedPrecondition);
  }
}

// Inside the tags, which show who sends what.
TEST_P(CodecTest, WhatNobodyAskedIsNotAnswered) {
  const ChunkId id{kRound, 2};
  const auto sum = Must(sides_->server_codec->NewSum(id, 10));
  Must(sum->Add(1, Must(sides_->client_codecs[1]->Encode(id, Random(10, 1)))));
  const std::string refused = "client 1 answers what nobody asked";
  EXPECT_EQ(sum->AddAnswer(1, {}).message(), refused);
  EXPECT_EQ(sides_->server_codec->asks(), GetParam().name == "threshold");
  if (sides_->server_codec->asks()) return;
  EXPECT_EQ(Must(sum->Question()), Bytes());
  EXPECT_EQ(sum->AddAnswer(1, {}).message(), refused) << "after an empty question";
  EXPECT_EQ(sides_->client_codecs[1]->Answer(id, {}).status().message(),
            "codec " + GetParam().name + ": chunk 2 needs no answer");
}

TEST_P(CodecTest, ResultsOfAnotherLengthAreRefused) {
  const ChunkId id{kRound, 0};
  std::vector<float> values(10, 7);
  for (const size_t bytes : {0, 1, 39, 41}) {
    EXPECT_EQ(sides_->client_codecs[0]->Decode(id, Bytes(bytes), values).code(),
              absl::StatusCode::kDataLoss)
        << bytes;
  }
  EXPECT_EQ(values, std::vector<float>(10, 7)) << "what is refused is not read";
}

TEST(EncryptedCodecTest, SumsOfNobodyAreRefused) {
  const CkksContextPointer context = Must(ckks::CkksContext::Create({.log2_degree = 12}));
  EXPECT_EQ(CkksClient(context, 0, Secret()).status().message(), "codec ckks: sums of 0 clients");
  EXPECT_EQ(CkksServer(context, 0).status().message(), "codec ckks: sums of 0 clients");
  EXPECT_EQ(ThresholdCodecServer(context, -1).status().message(),
            "codec threshold: sums of -1 clients");
  const auto sum = Must(Must(CkksServer(context, 1))->NewSum({.round = 4, .chunk = 5}, 10));
  EXPECT_EQ(sum->Result().status().message(), "chunk 5 of round 4: no client has added anything");
}

// Each client's numbers may be as large as a third of what the sum holds.
TEST(EncryptedCodecTest, AClientTooManyIsRefused) {
  for (const MakeSides make : {Ckks, Threshold}) {
    const std::unique_ptr<Sides> sides = make(Must(RandomSecret()));
    const ChunkId id{kRound, 0};
    const auto sum = Must(sides->server_codec->NewSum(id, 10));
    std::vector<Bytes> bodies;
    for (int i = 0; i < kClients; ++i) {
      bodies.push_back(Must(sides->client_codecs[size_t(i)]->Encode(id, Random(10, 1))));
      Must(sum->Add(i, bodies.back()));
    }
    const absl::Status status = sum->Add(kClients, bodies[0]);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("client 3: chunk 0 of round 9: a sum of 4 updates"));
  }
}

// Else the sum of all could wrap around.
TEST(EncryptedCodecTest, AClientHasItsShareOfTheLargestSum) {
  const std::pair<MakeSides, double> cases[] = {
      {Ckks, ckks::CkksParameters{.log2_degree = 12}.sum_limit()},
      {Threshold, ckks::DefaultThresholdCkks().sum_limit()}};
  for (const auto& [make, largest] : cases) {
    const std::unique_ptr<Sides> sides = make(Must(RandomSecret()));
    const double share = largest / kClients;
    ASSERT_LT(share, 1e6) << "so that float32 holds the whole numbers next to it";
    uint32_t chunk = 0;
    const auto encode = [&](double number) {
      const std::vector<float> values = {0, float(number)};
      return sides->client_codecs[0]->Encode({kRound, chunk++}, values).status();
    };
    for (const double sign : {1, -1}) {
      EXPECT_EQ(encode(sign * std::floor(share)), absl::OkStatus());
      EXPECT_THAT(std::string(encode(sign * (std::floor(share) + 1)).message()),
                  HasSubstr("not below the limit of "));
    }
  }
}

// Its words of chunk 0 are in the sum, under masks that nobody removes.
TEST(MaskedCodecTest, AClientThatStopsBetweenTwoChunksDoesNotSpoilTheSumUnseen) {
  const std::unique_ptr<Sides> sides = Masked(Must(RandomSecret()));
  UpdateSum early = Must(sides->server->NewSum({kRound, 0}, 10));
  std::vector<UpdateSum> held;  // of clients all of whose chunks have arrived
  std::vector<double> wanted(10);
  for (uint32_t chunk = 0; chunk < 2; ++chunk) {
    held.push_back(Must(sides->server->NewSum({kRound, chunk}, 10)));
    for (int i = 0; i < kClients; ++i) {
      if (chunk == 1 && i == 2) continue;
      const std::vector<float> values = Random(10, uint64_t(i));
      const Bytes message = Must(sides->clients[size_t(i)].Encode({kRound, chunk}, values));
      if (chunk == 0) Must(early.Add(i, message));
      if (i != 2) Must(held.back().Add(i, message));
      if (chunk == 0 && i != 2) {
        for (size_t k = 0; k < values.size(); ++k) wanted[k] += values[k];
      }
    }
  }
  const std::vector<int> stayed = {0, 1};
  Must(sides->masked_server->SetSurvivors(stayed));
  for (const int i : stayed) {
    Must(sides->masked_server->AddReveal(
        Must(sides->masked_clients[size_t(i)].RevealShares(stayed))));
  }
  Must(sides->masked_server->Rebuild());
  const absl::Status status = early.Result().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("chunk 0 has words of client 2, which did not survive"));
  for (uint32_t chunk = 0; chunk < 2; ++chunk) {
    std::vector<float> values(10);
    Must(sides->clients[0].Decode({kRound, chunk}, Must(held[chunk].Result()), values));
    for (size_t k = 0; k < 10; ++k) EXPECT_NEAR(values[k], wanted[k], sides->tolerance);
  }
}

// What passes the tags: a client's own words, or those of a server that a caller uses wrongly.
TEST(MaskedCodecTest, WordsAreThoseOfOneRoundAndComeOnce) {
  const std::unique_ptr<Sides> sides = Masked(Must(RandomSecret()));
  const ChunkId later{kRound + 1, 4};
  const std::vector<float> values = Random(10, 1);
  const std::string refused = "codec masked: masks are those of round 9, chunk 4 is of round 10";
  EXPECT_EQ(sides->client_codecs[0]->Encode(later, values).status().message(), refused);
  EXPECT_EQ(sides->server_codec->NewSum(later, 10).status().message(), refused);
  const auto sum = Must(sides->server_codec->NewSum({kRound, 4}, 10));
  const Bytes words = Must(sides->client_codecs[0]->Encode({kRound, 4}, values));
  EXPECT_EQ(sum->Add(0, std::span(words).first(36)).message(),
            "client 0: codec masked: chunk 4 has 36 bytes, expected 40 for 10 numbers");
  Must(sum->Add(0, words));
  const absl::Status twice = sum->Add(0, words);
  EXPECT_EQ(twice.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(twice.message(), "client 0 has already added its words of chunk 4");
}

TEST(MaskedCodecTest, OptionsAreChecked) {
  const masked::MaskedParameters parameters = {.clients = 2};
  masked::MaskedClient client = Must(masked::MaskedClient::Create(parameters, 0));
  const masked::MaskedServer server = Must(masked::MaskedServer::Create(parameters));
  const auto error = [&](int fraction_bits, size_t chunk_values) {
    const MaskedCodecOptions options = {
        .parameters = parameters, .fraction_bits = fraction_bits, .chunk_values = chunk_values};
    const absl::Status status = MaskedCodecClient(options, client).status();
    EXPECT_EQ(MaskedCodecServer(options, server).status(), status);
    return std::string(status.message());
  };
  EXPECT_EQ(error(1, 1), "");
  EXPECT_EQ(error(30, 1), "");
  const std::string advice = ": use 1 to 30 bits, and chunks of something";
  EXPECT_EQ(error(0, 5), "codec masked: 0 fraction bits in chunks of 5" + advice);
  EXPECT_EQ(error(31, 5), "codec masked: 31 fraction bits in chunks of 5" + advice);
  EXPECT_EQ(error(16, 0), "codec masked: 16 fraction bits in chunks of 0" + advice);
}

// From two encodings of one chunk the server could compute the difference of the numbers.
TEST(MaskedCodecTest, AChunkIsEncodedOnce) {
  const std::unique_ptr<Sides> sides = Masked(Must(RandomSecret()));
  const std::vector<float> values = Random(10, 1), too_large(10, 1e9f);
  EXPECT_FALSE(sides->clients[0].Encode({kRound, 0}, too_large).ok());
  Must(sides->clients[0].Encode({kRound, 0}, values));
  EXPECT_EQ(sides->clients[0].Encode({kRound, 0}, values).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(sides->clients[0].Encode({kRound, 1}, values).ok());
}

// With one tag's pad for two ciphertexts, the server could compute what tags are made with.
TEST(ThresholdCodecTest, AChunkIsEncryptedOnce) {
  const std::unique_ptr<Sides> sides = Threshold(Must(RandomSecret()));
  const std::vector<float> values = Random(10, 1);
  Must(sides->client_codecs[0]->Encode({kRound, 0}, values));
  EXPECT_EQ(sides->client_codecs[0]->Encode({kRound, 0}, values).status().message(),
            "codec threshold: chunk 0 of round 9 was encrypted before; send that one again");
  EXPECT_TRUE(sides->client_codecs[0]->Encode({kRound, 1}, values).ok());
}

// Each part shows what the sum of those asked about is.
TEST(ThresholdCodecTest, SumsAreOfOneUpdatePerClientUntilTheQuestion) {
  const std::unique_ptr<Sides> sides = Threshold(Must(RandomSecret()));
  const ChunkId id{kRound, 0};
  std::vector<Bytes> bodies;
  for (int i = 0; i < kClients; ++i) {
    bodies.push_back(Must(sides->client_codecs[size_t(i)]->Encode(id, Random(10, 1))));
  }
  const auto two = Must(sides->server_codec->NewSum(id, 10));
  Must(two->Add(0, bodies[0]));
  Must(two->Add(1, bodies[1]));
  const Bytes of_two = Must(two->Question());
  EXPECT_EQ(two->Add(2, bodies[2]).message(), "client 2 is too late for this sum");
  EXPECT_EQ(sides->client_codecs[0]->Answer(id, of_two).status().code(),
            absl::StatusCode::kUnauthenticated)
      << "a client answers for all or not at all";
  const auto sum = Must(sides->server_codec->NewSum(id, 10));
  EXPECT_EQ(sum->Add(0, of_two).message(), "client 0 sends a sum of 2 updates");
  for (int i = 0; i < kClients; ++i) Must(sum->Add(i, bodies[size_t(i)]));
  EXPECT_FALSE(sum->AddAnswer(0, {}).ok()) << "before the question";
  const Bytes question = Must(sum->Question());
  Bytes other = question;
  other[other.size() - 8] ^= 1;
  EXPECT_FALSE(sides->client_codecs[0]->Answer(id, other).ok());
  EXPECT_EQ(sides->client_codecs[0]->Answer(id, Bytes(3)).status().message(),
            "a ciphertext of 3 bytes has no tag");
  std::vector<Bytes> parts;
  for (int i = 0; i < kClients; ++i) {
    parts.push_back(Must(sides->client_codecs[size_t(i)]->Answer(id, question)));
  }
  for (const int nobody : {-1, kClients}) {
    EXPECT_EQ(sum->AddAnswer(nobody, parts[0]).message(),
              "client " + std::to_string(nobody) + " answers what nobody asked");
  }
  EXPECT_EQ(sum->AddAnswer(0, parts[1]).message(), "client 0 gives the part of client 1");
  EXPECT_EQ(sum->AddAnswer(0, Bytes(3)).code(), absl::StatusCode::kDataLoss);
  for (int i = 0; i < kClients; ++i) Must(sum->AddAnswer(i, parts[size_t(i)]));
  std::vector<float> values(10);
  EXPECT_EQ(sum->Read(values), absl::OkStatus());
  const Bytes result = Must(sum->Result());
  EXPECT_EQ(sides->client_codecs[0]->Decode(id, std::span(result).first(36), values).message(),
            "codec threshold: chunk 0 has 36 bytes, expected 40");
}

// With a shared key the server has nothing that decrypts; with threshold keys every part is needed.
TEST(ThresholdCodecTest, WithoutOneClientsAnswerThereIsNoResult) {
  const Secret job = Must(RandomSecret());
  const std::unique_ptr<Sides> sides = Threshold(job);
  const ChunkId id{kRound, 0};
  UpdateSum sum = Must(sides->server->NewSum(id, 10));
  EXPECT_FALSE(sum.Question().ok()) << "nothing was added";
  const std::vector<float> values = Random(10, 1);
  for (int i = 0; i < kClients; ++i) {
    Must(sum.Add(i, Must(sides->clients[size_t(i)].Encode(id, values))));
  }
  const Bytes question = Must(sum.Question());
  for (const int i : {0, 2}) {
    Must(sum.AddAnswer(i, Must(sides->clients[size_t(i)].Answer(id, question))));
  }
  const absl::Status status = sum.Result().status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("client 1 has not given its part"));
  // Nobody answers twice for a chunk, so that one client's update cannot follow the sum.
  EXPECT_EQ(sides->clients[0].Answer(id, question).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(sum.AddAnswer(0, question).code(), absl::StatusCode::kAlreadyExists);
}

}  // namespace
}  // namespace dtnn::codec
