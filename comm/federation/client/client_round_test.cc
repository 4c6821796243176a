#include "comm/federation/client/client_round.h"

#include <string>
#include <vector>

#include "comm/federation/agreed.h"
#include "comm/federation/client/call.h"
#include "comm/secrets/crypto/random_secret.h"
#include "comm/secrets/sums/authenticated.h"
#include "comm/secrets/sums/encrypted_codec.h"
#include "comm/secrets/sums/plain_codec.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"
#include "tensor/text/str_cat.h"

namespace dtnn::federation {
namespace {

using ::testing::HasSubstr;

// A sum of differences is not what a protection and its account are made for.
TEST(ClientRoundTest, OnlyPlainUpdatesAreSentAsDifferences) {
  const JobSecret secret = Must(JobSecret::Of(std::string(40, 's')));
  const ClientOptions options = {
      .place = {}, .name = "a", .model = {.values = 3, .trainable = 2}, .samples = 5};
  const auto begin = [&](Protection protection, bool difference) {
    const Protector protector = Must(Protector::Create({.protection = protection}, 3));
    const Frame frame = {
        .header = {.kind = FrameKind::kRound, .attempt = 1},
        .body = ToBytes(RoundStart{
            .round = 1, .rounds = 2, .samples = {5, 6}, .quorum = 1, .difference = difference})};
    return ClientRound::Begin(frame, {.options = options,
                                      .protector = protector,
                                      .secret = secret,
                                      .send = [](FrameKind, uint64_t, uint32_t, Bytes) {}})
        .status();
  };
  EXPECT_EQ(begin(Protection::kNone, true), absl::OkStatus());
  EXPECT_EQ(begin(Protection::kMasked, false), absl::OkStatus());
  EXPECT_EQ(begin(Protection::kMasked, true),
            absl::DataLossError("asks for a difference, but this client protects its updates"));
}

TEST(ClientRoundTest, NoisyUpdatesAreNotCompressedAndAggregatorsSendAll) {
  const JobSecret secret = Must(JobSecret::Of(std::string(40, 's')));
  ClientOptions options = {
      .place = {}, .name = "a", .model = {.values = 3, .trainable = 2}, .samples = 5};
  const auto begin = [&](const Compression& compression, const PrivacyOptions& privacy) {
    const Protector protector = Must(Protector::Create({.privacy = privacy}, 3));
    const Frame frame = {.header = {.kind = FrameKind::kRound, .attempt = 1},
                         .body = ToBytes(RoundStart{.round = 1,
                                                    .rounds = 2,
                                                    .samples = {5, 6},
                                                    .quorum = 1,
                                                    .difference = true,
                                                    .compression = compression})};
    return std::string(
        ClientRound::Begin(frame, {.options = options,
                                   .protector = protector,
                                   .secret = secret,
                                   .send = [](FrameKind, uint64_t, uint32_t, Bytes) {}})
            .status()
            .message());
  };
  const Compression int8 = {.kind = CompressionKind::kInt8};
  const Compression top_k = {.kind = CompressionKind::kTopK, .fraction = 0.1};
  EXPECT_EQ(begin(top_k, {}), "");
  EXPECT_EQ(begin(int8, {.clip = 1, .noise = 1}),
            "asks for compressed updates, but this client adds noise to its own");
  options.group = [] { return GroupSize(); };
  EXPECT_EQ(begin(int8, {}), "");
  EXPECT_THAT(begin(top_k, {}), HasSubstr("but this client is an aggregator"));
}

// Whatever the aggregator makes of what clients say.
TEST(ClientRoundTest, TheClipOfARoundIsNearTheFirstOne) {
  const JobSecret secret = Must(JobSecret::Of(std::string(40, 's')));
  const ClientOptions options = {
      .place = {}, .name = "a", .model = {.values = 3, .trainable = 2}, .samples = 5};
  const auto begin = [&](double quantile, double clip, bool over = false) {
    const Protector protector =
        Must(Protector::Create({.privacy = {.clip = 2, .noise = 1, .quantile = quantile}}, 3));
    const RoundStart start = {
        .over = over, .round = 1, .rounds = 2, .samples = {5, 6}, .quorum = 1, .clip = clip};
    const Frame frame = {.header = {.kind = FrameKind::kRound, .attempt = 1},
                         .body = ToBytes(start)};
    const absl::StatusOr<ClientRound> round =
        ClientRound::Begin(frame, {.options = options,
                                   .protector = protector,
                                   .secret = secret,
                                   .send = [](FrameKind, uint64_t, uint32_t, Bytes) {}});
    EXPECT_TRUE(!round.ok() || round->clip() == clip);
    return std::string(round.status().message());
  };
  for (const double good : {0.002, 2.0, 2000.0}) EXPECT_EQ(begin(0.5, good), "");
  EXPECT_EQ(begin(0, 0), "");
  EXPECT_EQ(begin(0.5, 0, /*over=*/true), "") << "final parameters have none";
  EXPECT_EQ(begin(0, 2), "sends the clip 2 of a round, but this client's does not adapt");
  for (const double bad : {0.0, 0.0019, 2001.0}) {
    EXPECT_EQ(begin(0.5, bad),
              StrCat("sends the clip ", bad,
                     " of a round; of 2, with which it begins, it becomes 0.002 to 2000"));
  }
}

// What a client says to a masked round of 100 clients with this clip, whose parameters are these.
std::string AnswerTo(double clip, float parameter) {
  const JobSecret secret = Must(JobSecret::Of(std::string(40, 's')));
  const ClientOptions options = {
      .place = {}, .name = "a", .model = {.values = 3, .trainable = 3}, .samples = 5};
  const Protector protector = Must(Protector::Create(
      {.protection = Protection::kMasked, .privacy = {.clip = 1, .noise = 0.1, .quantile = 0.5}},
      3));
  RoundStart start = {.round = 1, .rounds = 2, .quorum = 100, .clip = clip};
  start.samples.assign(100, 5);
  std::string declined;
  ClientRound round = Must(ClientRound::Begin(
      {.header = {.kind = FrameKind::kRound, .attempt = 1}, .body = ToBytes(start)},
      {.options = options,
       .protector = protector,
       .secret = secret,
       .send = [&](FrameKind kind, uint64_t, uint32_t, const Bytes& body) {
         if (kind == FrameKind::kDecline) declined = TextFromBytes(body);
       }}));
  const std::vector<float> parameters(3, parameter);
  const auto codec = Must(codec::PlainClient(codec::WireType::kFloat32, kParameterChunk));
  EXPECT_EQ(round.Take({.header = {.kind = FrameKind::kParameters, .attempt = 1},
                        .body = Must(codec->Encode({}, parameters))}),
            absl::OkStatus());
  return declined;
}

// A hundred clients round to 2^-18, and each has a tenth of the noise, 0.103 clips.
TEST(ClientRoundTest, NoiseThatWouldBeLostInRoundingEndsTheRound) {
  EXPECT_EQ(AnswerTo(1, 1), "");
  EXPECT_EQ(AnswerTo(0.0015, 1), "");
  EXPECT_EQ(AnswerTo(0.00147, 1),
            "the clip 0.00147 of the round makes this client's noise, 1.51821e-05, smaller than "
            "what numbers are rounded to");
  EXPECT_EQ(AnswerTo(0.01, 60), "");
  EXPECT_NE(AnswerTo(0.01, 2000), "") << "float32 has steps of 2^-13 there";
}

// The parameters of a round that are the sum of one client that encrypts with `sealed`, to a client
// that has `own`.
absl::StatusOr<RoundTask> TaskOf(const Secret& sealed, const Secret& own) {
  const JobSecret secret = Must(JobSecret::Of(std::string(40, 's')));
  const Protector protector = Must(Protector::Create({.protection = Protection::kSharedKey}, 3));
  const ParametersFrom from = {.encrypted = true, .attempt = 4, .nonce = {9}, .clients = 2};
  const Secret job = Must(secret.Derive(kTagPurpose, from.nonce));
  codec::UpdateClient sender(Must(codec::CkksClient(protector.context(), 2, sealed)), 0,
                             Must(codec::ClientTagKey(job, 0)), Must(codec::ServerTagKey(job)));
  codec::UpdateServer server(Must(codec::CkksServer(protector.context(), 2)), job);
  codec::UpdateSum sum = Must(server.NewSum({from.attempt, 0}, 3));
  Must(sum.Add(0, Must(sender.Encode({from.attempt, 0}, std::vector<float>{1, 2, 3}))));
  const ClientOptions options = {
      .place = {}, .name = "a", .model = {.values = 3, .trainable = 3}, .samples = 5, .key = own};
  const RoundStart start = {
      .round = 2, .rounds = 3, .samples = {5, 6}, .quorum = 1, .parameters = from};
  ClientRound round = Must(ClientRound::Begin(
      {.header = {.kind = FrameKind::kRound, .attempt = 5}, .body = ToBytes(start)},
      {.options = options,
       .protector = protector,
       .secret = secret,
       .send = [](FrameKind, uint64_t, uint32_t, const Bytes&) { ADD_FAILURE() << "says it"; }}));
  Must(round.Take(
      {.header = {.kind = FrameKind::kParameters, .attempt = 5}, .body = Must(sum.Result())}));
  return round.Task();
}

// Each answer about a sum of the aggregator's own making would tell it something of the key.
TEST(ClientRoundTest, ASumThatTheKeyDoesNotOpenEndsTheClient) {
  const Secret own = Must(RandomSecret()), other = Must(RandomSecret());
  const std::vector<float> read = Must(TaskOf(own, own)).parameters;
  ASSERT_EQ(read.size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(read[i], double(i + 1), 1e-6);
  const absl::Status status = TaskOf(other, own).status();
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("parameters of round 2: cannot decode: numbers beyond "));
  EXPECT_FALSE(IsOfConnection(status)) << "it would come again: " << status;
}

}  // namespace
}  // namespace dtnn::federation
