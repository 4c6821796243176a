#include "comm/federation/client/prove_identity.h"

#include <sys/socket.h>

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "comm/federation/identity/identity.h"
#include "comm/federation/messages.h"
#include "comm/secrets/crypto/ed25519_file.h"
#include "comm/secrets/crypto/random_secret.h"
#include "comm/transport/tcp/plain_stream.h"
#include "comm/transport/tcp/socket.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn::federation {
namespace {

using ::testing::HasSubstr;

struct Answer {
  FrameKind kind;
  Bytes body;
};

class ProveIdentityTest : public ::testing::Test {
 protected:
  ProveIdentityTest() {
    options_.timeout = std::chrono::seconds(60);
    options_.identity = {.name = "north", .aggregator = Must(Ed25519PublicKeyOf(key_))};
  }

  // What the client makes of another end that answers its introduction so.
  template <typename MakeAnswer>
  absl::Status With(const MakeAnswer& make_answer) {
    std::array<int, 2> pair;
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair.data()), 0);
    Channel client(PlainStream(Socket(pair[0])), "there");
    Channel other(PlainStream(Socket(pair[1])), "here");
    std::thread answers([&] {
      std::optional<Frame> frame;
      while (!frame) {
        frame = Must(other.Receive([](const FrameHeader&) { return std::optional<size_t>(4096); }));
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      Answer answer = make_answer(Must(IntroductionFromBytes(frame->body)));
      other.Send(answer.kind, 0, 0, std::move(answer.body));
      while (!other.flushed()) Must(other.Write());
    });
    const absl::Status status = ProveIdentity(options_, client);
    answers.join();
    while (!client.flushed()) Must(client.Write());
    const auto any = [](const FrameHeader&) { return std::optional<size_t>(4096); };
    proved_ = Must(other.Receive(any)).has_value();
    return status;
  }

  // Signed by that key, or not at all.
  static Answer ChallengeBy(const Introduction& introduction, const std::optional<Secret>& key,
                            bool wants_proof = false, const Bytes& binding = {}) {
    const Encounter encounter = {
        .client = introduction, .aggregator_nonce = {7}, .binding = binding};
    Challenge challenge = {.nonce = encounter.aggregator_nonce, .wants_proof = wants_proof};
    if (key) challenge.signature = Must(SignEncounter(Side::kAggregator, encounter, *key));
    return {FrameKind::kChallenge, ToBytes(challenge)};
  }
  static Answer Refusal(const Introduction&) {
    return {FrameKind::kRefusal, TextToBytes("it is not wanted")};
  }

  const Secret key_ = Must(RandomSecret());
  CallOptions options_;
  bool proved_ = false;  // the client has said more than its introduction
};

TEST_F(ProveIdentityTest, TheAggregatorWithTheKeyIsTheRightOne) {
  EXPECT_EQ(With([&](const Introduction& in) { return ChallengeBy(in, key_); }), absl::OkStatus());
}

// A process that knows the secret, and is faster: the client calls again.
TEST_F(ProveIdentityTest, NobodyElseEndsAClientThatExpectsAKey) {
  const auto trouble = [&](const auto& make_answer) {
    const absl::Status status = With(make_answer);
    EXPECT_TRUE(absl::IsAborted(status)) << status;
    return std::string(status.message());
  };
  EXPECT_EQ(trouble(Refusal), "refuses this client: it is not wanted");
  const Secret other = Must(RandomSecret());
  EXPECT_THAT(trouble([&](const Introduction& in) { return ChallengeBy(in, other); }),
              HasSubstr("does not prove that it has the aggregator's key "));
  EXPECT_THAT(trouble([&](const Introduction& in) { return ChallengeBy(in, std::nullopt); }),
              HasSubstr("has no key, but this client expects the aggregator's key "));
  // As a process in between that passes on what the right aggregator has signed for it.
  EXPECT_THAT(trouble([&](const Introduction& in) { return ChallengeBy(in, key_, false, {1}); }),
              HasSubstr("does not prove that it has the aggregator's key "));
  trouble([](const Introduction&) { return Answer{FrameKind::kChallenge, Bytes(3)}; });
  trouble([](const Introduction&) { return Answer{FrameKind::kVerdict, Bytes(3)}; });
}

TEST_F(ProveIdentityTest, OnlyTheRightAggregatorGetsAProof) {
  options_.identity.key_file = ::testing::TempDir() + "/north.key";
  Must(WriteEd25519File(options_.identity.key_file, Must(RandomSecret())));
  for (const std::optional<Secret>& key :
       {std::optional(Must(RandomSecret())), std::optional<Secret>()}) {
    EXPECT_FALSE(With([&](const Introduction& in) { return ChallengeBy(in, key, true); }).ok());
    EXPECT_FALSE(proved_);
  }
  EXPECT_EQ(With([&](const Introduction& in) { return ChallengeBy(in, key_, true); }),
            absl::OkStatus());
  EXPECT_TRUE(proved_);
}

TEST_F(ProveIdentityTest, WithoutSuchAKeyARefusalIsFinal) {
  options_.identity.aggregator.reset();
  options_.identity.key_file = "not read";
  const absl::Status status = With(Refusal);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_EQ(std::string(status.message()), "refuses this client: it is not wanted");
}

}  // namespace
}  // namespace dtnn::federation
