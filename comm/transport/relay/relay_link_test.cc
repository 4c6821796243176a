// Two links whose packets a test carries by hand: in any order, twice, changed, or not at all.

#include "comm/transport/relay/relay_link.h"

#include <poll.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/secrets/crypto/hash.h"
#include "comm/secrets/crypto/random_secret.h"
#include "comm/secrets/crypto/x25519.h"
#include "comm/wire/wire.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"
#include "tools/testing/descriptors.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;

constexpr size_t kWindow = 1 << 20;

JobSecret Known(char letter) { return Must(JobSecret::Of(std::string(40, letter))); }

// One end, and what it has sent.
struct End {
  End(int rank, const JobSecret& secret, int size = 2, uint64_t instance = 7)
      : secret(secret),
        rank(rank),
        link(
            {.peer = 1 - rank,
             .size = size,
             .card = {.instance = {rank, instance}, .network_space = 100 + uint64_t(rank)},
             .window = kWindow},
            this->secret, [this](std::string bytes) { out.push_back(std::move(bytes)); },
            [this] { ++changes; }) {}

  void Hear(const std::string& bytes) {
    const std::optional<Packet> packet = ReadPacket(bytes, rank);
    if (packet) link.Take(*packet);
  }
  size_t Write(const std::string& text) {
    const std::span<const std::byte> range = std::as_bytes(std::span(text));
    return Must(link_stream().Write({&range, 1}));
  }
  // All that is there.
  std::string Read() {
    std::string text;
    std::vector<std::byte> buffer(1000);
    while (true) {
      const absl::StatusOr<size_t> n = link_stream().Read(buffer);
      status = n.status();
      if (!n.ok() || *n == 0) return text;
      text.append(reinterpret_cast<const char*>(buffer.data()), *n);
    }
  }
  bool Readable() {
    pollfd descriptor = {link_stream().descriptor(), POLLIN, 0};
    return poll(&descriptor, 1, 0) == 1;
  }
  Stream& link_stream() {
    if (stream == nullptr) stream = link.MakeStream();
    return *stream;
  }

  const JobSecret secret;
  const int rank;
  std::deque<std::string> out;
  int changes = 0;
  RelayLink link;
  std::unique_ptr<Stream> stream;
  absl::Status status;  // of the last Read
};

void Carry(End& a, End& b) {
  while (!a.out.empty() || !b.out.empty()) {
    for (const auto& [from, to] : {std::pair(&a, &b), std::pair(&b, &a)}) {
      if (from->out.empty()) continue;
      const std::string packet = from->out.front();
      from->out.pop_front();
      to->Hear(packet);
    }
  }
}

class RelayLinkTest : public ::testing::Test {
 protected:
  void Establish() {
    caller_.link.Call();
    Carry(caller_, called_);
    ASSERT_TRUE(caller_.link.established());
    ASSERT_TRUE(called_.link.established());
  }

  End called_{0, Known('s')}, caller_{1, Known('s')};
};

TEST_F(RelayLinkTest, EachEndLearnsWhoTheOtherIs) {
  Establish();
  EXPECT_EQ(caller_.link.card().network_space, 100u);
  EXPECT_EQ(called_.link.card().instance, (Instance{1, 7}));
  EXPECT_GT(caller_.changes, 0);
  EXPECT_GT(called_.changes, 0);
}

TEST_F(RelayLinkTest, ABindingIsTheSameAtBothEndsAndOfNoOtherConnection) {
  EXPECT_FALSE(caller_.link_stream().binding().ok()) << "there is no connection yet";
  Establish();
  const std::vector<uint8_t> binding = Must(caller_.link_stream().binding());
  EXPECT_EQ(binding.size(), 32u);
  EXPECT_EQ(Must(called_.link_stream().binding()), binding);
  // Two that know the secret too, one of which has the caller's place.
  End called(0, Known('s')), caller(1, Known('s'));
  caller.link.Call();
  Carry(caller, called);
  EXPECT_NE(Must(called.link_stream().binding()), binding);
}

TEST_F(RelayLinkTest, ACarrierWithoutRoomForLargePacketsIsFoundAtOnce) {
  caller_.link.Call();
  called_.Hear(caller_.out.front());
  caller_.out.pop_front();
  caller_.Hear(called_.out.front());
  ASSERT_GE(caller_.out.front().size(), kMostPayload);
  called_.Hear(caller_.out.back());
  EXPECT_FALSE(called_.link.established());
  EXPECT_THAT(std::string(called_.link.error().message()),
              HasSubstr("it must have room for messages of 257 KiB"));
}

TEST_F(RelayLinkTest, CallsAreRepeatedUntilTheyAreAnswered) {
  caller_.link.Call();
  caller_.out.clear();  // nobody was there
  caller_.link.Call();
  caller_.link.Call();
  Carry(caller_, called_);
  EXPECT_TRUE(caller_.link.established());
  EXPECT_TRUE(called_.link.established());
  caller_.Write("hello");
  Carry(caller_, called_);
  EXPECT_EQ(called_.Read(), "hello");
}

TEST_F(RelayLinkTest, BytesArriveInOrderBothWays) {
  Establish();
  called_.Read();
  EXPECT_FALSE(called_.Readable());
  std::string all;
  for (int i = 0; i < 50; ++i) {
    const std::string text(size_t(i) * 7 % 300 + 1, char('a' + i % 26));
    EXPECT_EQ(caller_.Write(text), text.size());
    EXPECT_EQ(called_.Write(text), text.size());
    all += text;
    Carry(caller_, called_);
    caller_.Read();
    if (i % 7 != 0) continue;
    EXPECT_TRUE(called_.Readable());
    EXPECT_EQ(called_.Read(), std::exchange(all, ""));
  }
  EXPECT_EQ(called_.Read(), all);
  EXPECT_FALSE(called_.Readable());
}

TEST_F(RelayLinkTest, NobodySendsMoreThanIsRead) {
  Establish();
  const std::string much(300 << 10, 'm');
  size_t sent = 0;
  while (const size_t n = caller_.Write(much)) sent += n;
  EXPECT_LE(sent, kWindow);
  EXPECT_GT(sent, kWindow / 2);
  EXPECT_TRUE(caller_.link_stream().writes_after_reading());
  Carry(caller_, called_);
  caller_.Read();
  EXPECT_FALSE(caller_.Readable()) << "nothing was read there yet";
  EXPECT_EQ(caller_.Write(much), 0u);
  EXPECT_EQ(called_.Read().size(), sent);
  Carry(caller_, called_);
  EXPECT_TRUE(caller_.Readable()) << "there is room again";
  EXPECT_EQ(caller_.Read(), "");
  EXPECT_GT(caller_.Write(much), 0u);
  EXPECT_EQ(caller_.status, absl::OkStatus());
}

// Small packets cost more than their bytes.
TEST_F(RelayLinkTest, ManySmallPacketsAreBoundedToo) {
  Establish();
  int packets = 0;
  while (caller_.Write("x") > 0) ++packets;
  EXPECT_LE(packets, int(kWindow / RelayLink::kPacketCost));
}

TEST_F(RelayLinkTest, TheSamePacketTwiceIsReadOnce) {
  Establish();
  caller_.Write("once");
  const std::string packet = caller_.out.front();
  Carry(caller_, called_);
  called_.Hear(packet);
  EXPECT_EQ(called_.Read(), "once");
  EXPECT_EQ(called_.status, absl::OkStatus());
}

TEST_F(RelayLinkTest, AMissingPacketBreaksTheStream) {
  Establish();
  caller_.Write("one");
  caller_.out.pop_front();
  caller_.Write("two");
  Carry(caller_, called_);
  EXPECT_EQ(called_.Read(), "");
  EXPECT_EQ(called_.status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(called_.status.message()), HasSubstr("1 of its messages are missing"));
  EXPECT_TRUE(called_.Readable()) << "poll still reports it";
}

TEST_F(RelayLinkTest, ChangedPacketsAreNone) {
  Establish();
  caller_.Write("genuine");
  std::string packet = caller_.out.front();
  for (size_t at = 0; at < packet.size(); ++at) {
    std::string changed = packet;
    changed[at] = char(changed[at] ^ 1);
    called_.Hear(changed);
  }
  called_.Hear(packet.substr(0, packet.size() - 1));
  called_.Hear("");
  EXPECT_EQ(called_.Read(), "");
  EXPECT_EQ(called_.status, absl::OkStatus());
  Carry(caller_, called_);
  EXPECT_EQ(called_.Read(), "genuine");
}

TEST_F(RelayLinkTest, NoOtherTextIsCarriedThanTheSealedOne) {
  Establish();
  caller_.Write("a secret that nobody may read");
  EXPECT_THAT(caller_.out.front(), ::testing::Not(HasSubstr("secret")));
}

// Any process of a job may hear what is carried, and all know the secret.
TEST_F(RelayLinkTest, WhatIsCarriedAndTheSecretOpenNothing) {
  const JobSecret secret = Known('s');
  const auto public_key = [](const Secret& key, const std::string& bytes, int to) {
    const WipedVector<uint8_t> introduction = Must(OpenPacket(key, *ReadPacket(bytes, to)));
    return std::vector<uint8_t>(introduction.begin(), introduction.begin() + 32);
  };
  caller_.link.Call();
  const std::string call = caller_.out.front();
  called_.Hear(call);
  const std::string answer = called_.out.front();
  Carry(caller_, called_);
  std::vector<uint8_t> heard = public_key(Must(RelayLink::CallKey(secret)), call, 0);
  const std::vector<uint8_t> answered =
      public_key(Must(secret.Derive("an answer through a relay", heard)), answer, 1);
  heard.insert(heard.end(), answered.begin(), answered.end());

  ASSERT_TRUE(caller_.link.established());
  caller_.Write("a secret that nobody may read");
  const std::string packet = caller_.out.front();
  const Secret guess = Must(secret.Derive("a stream through a relay", heard));
  EXPECT_FALSE(OpenPacket(guess, *ReadPacket(packet, 0)).ok());
  // Nor does a process that has answered the same call read what its answer was not the first to.
  End other(0, secret);
  other.Hear(call);
  other.Hear(packet);
  EXPECT_EQ(other.Read(), "");
}

TEST_F(RelayLinkTest, PacketsOfAnEarlierConnectionAreNone) {
  Establish();
  std::vector<std::string> recorded;
  caller_.Write("pay 100");
  recorded.push_back(caller_.out.front());
  End called(0, Known('s')), caller(1, Known('s'));
  caller.link.Call();
  recorded.insert(recorded.begin(), caller.out.front());
  Carry(caller, called);
  End later(0, Known('s'));
  for (const std::string& packet : recorded) later.Hear(packet);
  EXPECT_FALSE(later.link.established()) << "the call was answered, and nothing followed";
  EXPECT_EQ(later.out.size(), 1u);
  called.Hear(recorded[1]);
  EXPECT_EQ(called.Read(), "");
}

TEST_F(RelayLinkTest, WhoDoesNotKnowTheSecretIsRefusedAndToldSo) {
  End unknown(1, Known('x'));
  unknown.link.Call();
  Carry(unknown, called_);
  EXPECT_FALSE(unknown.link.established());
  EXPECT_FALSE(called_.link.established());
  EXPECT_THAT(called_.link.refused(), HasSubstr("does not know this job's secret"));
  EXPECT_THAT(unknown.link.refused(), HasSubstr("cannot open what this rank sends"));
  EXPECT_EQ(unknown.link.error(), absl::OkStatus()) << "anybody may say so";
  Establish();
}

TEST_F(RelayLinkTest, ASecondProcessOfARankIsToldSo) {
  Establish();
  End second(1, Known('s'), 2, 8);
  second.link.Call();
  Carry(second, called_);
  EXPECT_EQ(second.link.error().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(second.link.error().message()),
              HasSubstr("another process has joined it as rank 1"));
  caller_.Write("still here");
  Carry(caller_, called_);
  EXPECT_EQ(called_.Read(), "still here");
}

// As a broker would, which does not know them apart: both hear what is for their rank.
void CarryToBoth(End& called, End& first, End& second) {
  while (!called.out.empty() || !first.out.empty() || !second.out.empty()) {
    for (End* from : {&called, &first, &second}) {
      if (from->out.empty()) continue;
      const std::string packet = from->out.front();
      from->out.pop_front();
      for (End* to : {&called, &first, &second}) to->Hear(packet);
    }
  }
}

TEST_F(RelayLinkTest, OfTwoThatCallAtOnceTheFirstThatIsReadyHasTheRank) {
  End second(1, Known('s'), 2, 8);
  caller_.link.Call();
  called_.Hear(caller_.out.front());
  caller_.Hear(called_.out.front());  // it is answered, and not yet heard of
  second.link.Call();
  called_.Hear(second.out.front());
  second.Hear(called_.out.back());
  ASSERT_FALSE(called_.link.established());
  CarryToBoth(called_, caller_, second);
  EXPECT_TRUE(caller_.link.established());
  EXPECT_TRUE(called_.link.established());
  EXPECT_EQ(called_.link.card().instance, (Instance{1, 7}));
  EXPECT_FALSE(second.link.established());
  EXPECT_EQ(second.link.error().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(second.link.error().message()),
              HasSubstr("another process has joined it as rank 1"));
  caller_.Write("still here");
  CarryToBoth(called_, caller_, second);
  EXPECT_EQ(called_.Read(), "still here");
}

// So a process that is started again has the rank of one that has called and died.
TEST_F(RelayLinkTest, OneThatLeavesBeforeItIsReadyMakesWay) {
  End second(1, Known('s'), 2, 8);
  caller_.link.Call();
  called_.Hear(caller_.out.front());
  second.link.Call();
  called_.Hear(second.out.front());
  second.out.clear();
  called_.link.Leave({.rank = 1, .number = 7});
  EXPECT_FALSE(called_.link.established());
  Carry(called_, second);
  EXPECT_TRUE(second.link.established());
  EXPECT_TRUE(called_.link.established());
  EXPECT_EQ(called_.link.card().instance, (Instance{1, 8}));
}

// Anybody who has heard them can repeat them, at any moment, and gets no rank by that.
TEST_F(RelayLinkTest, CallsThatAreOnlyRecordedKeepNobodyOut) {
  std::vector<std::string> recorded;
  for (uint64_t i = 0; i < 20; ++i) {
    End earlier(1, Known('s'), 2, 100 + i);
    earlier.link.Call();
    recorded.push_back(earlier.out.front());
  }
  for (const std::string& call : recorded) called_.Hear(call);
  caller_.link.Call();
  called_.Hear(caller_.out.front());
  called_.Hear(recorded.front());
  called_.Hear(caller_.out.front());  // it calls again
  called_.Hear(recorded.back());
  caller_.out.clear();
  Carry(caller_, called_);
  EXPECT_TRUE(caller_.link.established());
  EXPECT_TRUE(called_.link.established());
  EXPECT_EQ(called_.link.card().instance, (Instance{1, 7}));
}

TEST_F(RelayLinkTest, RanksThatCountDifferentlyAreToldSo) {
  End many(1, Known('s'), 3);
  many.link.Call();
  Carry(many, called_);
  EXPECT_THAT(std::string(many.link.error().message()),
              HasSubstr("it counts 2 ranks, and this one 3"));
  EXPECT_THAT(called_.link.refused(), HasSubstr("counts 3 ranks instead of 2"));
}

TEST_F(RelayLinkTest, AnEndIsReadAfterTheLastBytes) {
  for (const bool killed : {false, true}) {
    End called(0, Known('s')), caller(1, Known('s'));
    caller.link.Call();
    Carry(caller, called);
    caller.Write("last");
    if (!killed) caller.link_stream().CloseWriting();
    Carry(caller, called);
    called.link.Leave({.rank = 1, .number = 8});  // another process of that rank
    if (killed) called.link.Leave({.rank = 1, .number = 7});
    EXPECT_EQ(called.Read(), "last");
    EXPECT_EQ(called.status.code(), absl::StatusCode::kOutOfRange);
  }
}

// Ranks that still join others find it out when they use the stream.
TEST_F(RelayLinkTest, WhoAnsweredAndLeftIsEstablishedAndAtItsEnd) {
  caller_.link.Call();
  called_.Hear(caller_.out.front());
  caller_.link.Leave({.rank = 0, .number = 7});
  EXPECT_FALSE(caller_.link.established()) << "it has not been heard of";
  caller_.Hear(called_.out.front());
  caller_.link.Leave({.rank = 0, .number = 7});
  EXPECT_TRUE(caller_.link.established());
  EXPECT_EQ(caller_.link.card().network_space, 100u);
  EXPECT_EQ(caller_.Read(), "");
  EXPECT_EQ(caller_.status.code(), absl::StatusCode::kOutOfRange);
}

TEST_F(RelayLinkTest, AnUnknownProcessThatLeavesIsNobody) {
  Establish();
  called_.link.Leave({.rank = 1, .number = 8});
  EXPECT_EQ(called_.Read(), "");
  EXPECT_EQ(called_.status, absl::OkStatus());
}

TEST_F(RelayLinkTest, WhoeverIsCutOffIsToldWhy) {
  Establish();
  called_.link.Cut(absl::UnavailableError("the broker is gone"));
  called_.Read();
  EXPECT_EQ(called_.status.message(), "the broker is gone");
  const std::string text = "x";
  const std::span<const std::byte> range = std::as_bytes(std::span(text));
  EXPECT_FALSE(called_.link_stream().Write({&range, 1}).ok());
}

// A process of the job as rank 1 that knows all keys, and keeps no rule.
class Ruleless {
 public:
  using Kind = PacketHeader::Kind;

  Ruleless(End& other, RelayLink::Card card)
      : other_(other), secret_(Known('s')), private_key_(Must(RandomSecret())) {
    own_ = Must(X25519PublicKeyOf(private_key_));
    WireWriter call;
    call.Bytes(own_);
    call.Number(uint32_t(card.instance.rank));
    call.Number(card.instance.number);
    call.Number(card.network_space);
    Send(Kind::kCall, Must(RelayLink::CallKey(secret_)), 0, call.bytes());
    if (other.out.empty()) return;
    const Secret answer_key = Must(secret_.Derive("an answer through a relay", own_));
    const WipedVector<uint8_t> answer =
        Must(OpenPacket(answer_key, *ReadPacket(other.out.front(), 1)));
    X25519PublicKey theirs;
    std::copy_n(answer.begin(), theirs.size(), theirs.begin());
    std::vector<uint8_t> both(own_.begin(), own_.end());
    both.insert(both.end(), theirs.begin(), theirs.end());
    const Secret of_job = Must(secret_.Derive("a stream through a relay", both));
    key_ = Must(DeriveSecret(Must(X25519Agree(private_key_, theirs)), "a stream through a relay",
                             of_job.bytes()));
  }

  void Say(Kind kind, const std::vector<uint8_t>& payload = {}) {
    Send(kind, key_, number_++, payload);
  }
  void Read(uint64_t so_far) {
    WireWriter writer;
    writer.Number(so_far);
    Say(Kind::kRead, {writer.bytes().begin(), writer.bytes().end()});
  }

 private:
  void Send(Kind kind, const Secret& key, int64_t number, std::span<const uint8_t> payload) {
    other_.Hear(Must(SealPacket(
        key,
        {.version = kPacketVersion, .kind = kind, .from = 1, .to = 0, .size = 2, .number = number},
        payload)));
  }

  End& other_;
  const JobSecret secret_;
  const Secret private_key_;
  X25519PublicKey own_;
  Secret key_;
  int64_t number_ = 0;
};

// How the stream of a rank ends to which `say` was said.
std::string EndAfter(const std::function<void(Ruleless&, End&)>& say) {
  End called(0, Known('s'));
  Ruleless ruleless(called, {{1, 7}, 100});
  say(ruleless, called);
  called.Read();
  return std::string(called.link.error().message());
}

TEST(RelayLinkRulesTest, WhoBreaksThemIsCutOff) {
  using Kind = PacketHeader::Kind;
  EXPECT_EQ(EndAfter([](Ruleless& peer, End& called) {
              peer.Say(Kind::kReady);
              EXPECT_TRUE(called.link.established());
              peer.Say(Kind::kBytes, {'h', 'i'});
              peer.Read(0);
              EXPECT_EQ(called.Read(), "hi");
            }),
            "")
      << "a peer that keeps the rules is not lost";
  EXPECT_EQ(EndAfter([](Ruleless& peer, End&) { peer.Say(Kind::kBytes, {1}); }), "is not ready");
  EXPECT_EQ(EndAfter([](Ruleless& peer, End&) {
              peer.Say(Kind::kReady);
              peer.Say(Kind::kReady);
            }),
            "is not ready");
  EXPECT_EQ(EndAfter([](Ruleless& peer, End&) {
              peer.Say(Kind::kReady);
              peer.Say(Kind::kBytes);
            }),
            "sends nothing");
  EXPECT_EQ(EndAfter([](Ruleless& peer, End& called) {
              peer.Say(Kind::kReady);
              const int most = int(kWindow / (RelayLink::kPacketCost + 1));
              for (int i = 0; i < most; ++i) peer.Say(Kind::kBytes, {1});
              EXPECT_EQ(called.link.error(), absl::OkStatus()) << "as much as it was granted";
              peer.Say(Kind::kBytes, {1});
            }),
            "sends more than it was granted");
  EXPECT_EQ(EndAfter([](Ruleless& peer, End&) {
              peer.Say(Kind::kReady);
              peer.Read(1);
            }),
            "reads what was not sent");
  EXPECT_EQ(EndAfter([](Ruleless& peer, End& called) {
              peer.Say(Kind::kReady);
              called.Write("x");
              peer.Read(RelayLink::kPacketCost + 1);
              EXPECT_EQ(called.link.error(), absl::OkStatus());
              peer.Read(RelayLink::kPacketCost);
            }),
            "reads what was not sent")
      << "less than before";
  for (const size_t bytes : {7, 9}) {
    EXPECT_THAT(EndAfter([&](Ruleless& peer, End&) {
                  peer.Say(Kind::kReady);
                  peer.Say(Kind::kRead, std::vector<uint8_t>(bytes));
                }),
                HasSubstr("packet: "));
  }
}

TEST(RelayLinkRulesTest, ACardIsOfWhoShowsIt) {
  End called(0, Known('s'));
  const Ruleless other(called, {{2, 7}, 100});
  EXPECT_EQ(called.link.refused(), "shows another's card");
  EXPECT_TRUE(called.out.empty());
  EXPECT_EQ(called.link.error(), absl::OkStatus()) << "another may still call";
}

TEST_F(RelayLinkTest, OnlyHigherRanksCall) {
  called_.link.Call();
  Carry(called_, caller_);
  EXPECT_EQ(caller_.link.refused(), "calls a higher rank");
  EXPECT_FALSE(caller_.link.established() || called_.link.established());
  Establish();
}

// One that its process could never be woken for: a stream on which nothing ever comes.
TEST(RelayLinkRulesTest, ALinkWithoutADescriptorIsNone) {
  std::optional<testing::NoNewDescriptors> none(std::in_place);
  End called(0, Known('s'));
  none.reset();
  End caller(1, Known('s'));
  EXPECT_TRUE(absl::IsResourceExhausted(called.link.error())) << called.link.error();
  EXPECT_THAT(std::string(called.link.error().message()), HasSubstr("Too many open files"));
  caller.link.Call();
  called.Hear(caller.out.front());
  EXPECT_TRUE(called.out.empty()) << "it has no key to answer with";
}

// Bytes that nobody reads any more.
TEST_F(RelayLinkTest, NothingIsWrittenAfterTheEnd) {
  Establish();
  caller_.Write("last");
  caller_.link_stream().CloseWriting();
  const size_t packets = caller_.out.size();
  EXPECT_EQ(caller_.Write("more"), 0u);
  caller_.link_stream().CloseWriting();
  EXPECT_EQ(caller_.out.size(), packets) << "the end is said once";
  EXPECT_EQ(called_.Write(""), 0u);
}

}  // namespace
}  // namespace dtnn
