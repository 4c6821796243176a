// Clients that send what they should not, and clients that do not fit.

#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "comm/federation/protocol.h"
#include "comm/federation/testing/federation_fixture.h"
#include "comm/federation/threshold_protocol.h"
#include "comm/secrets/masked/masked_client.h"
#include "comm/secrets/sums/plain_codec.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn::federation {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::Not;

// Two good clients, and `bad`, which gets the first round's number and what it needs for tags.
struct BadRound {
  uint64_t attempt = 0;
  RoundStart start;
  RunNonce nonce{};
  Secret job;
  Hash hash{};  // of what all clients receive

  SumFacts facts(const Protector& protector) const {
    return {.attempt = attempt,
            .nonce = nonce,
            .participants = int(start.samples.size()),
            .chunks = protector.chunks(protector.sum_values(kValues)),
            .facts = hash};
  }
  int position() const { return int(start.position); }
};

// The next round that this client is asked for; nothing where there is none.
std::optional<BadRound> AwaitRound(RawClient& raw, const Welcome& welcome) {
  const std::optional<Frame> begin = raw.Await(FrameKind::kRound);
  if (!begin) return std::nullopt;
  BadRound round = {.attempt = begin->header.attempt,
                    .start = Must(RoundStartFromBytes(begin->body)),
                    .nonce = welcome.nonce,
                    .job = Must(Job().Derive(kTagPurpose, welcome.nonce))};
  std::vector<Bytes> parameters;
  for (size_t at = 0; at < kValues; at += kParameterChunk) {
    std::optional<Frame> chunk = raw.Await(FrameKind::kParameters);
    if (!chunk) return std::nullopt;
    parameters.push_back(std::move(chunk->body));
  }
  round.hash = Must(HashOfRound(round.start, round.nonce, round.attempt, parameters));
  return round;
}

class HostileTest : public FederationTest {
 protected:
  // Runs two rounds with two good clients and one that does `bad` when it is asked. The good ones
  // wait for `until` to be said.
  void RunWith(const std::string& until,
               const std::function<void(RawClient&, const BadRound&)>& bad) {
    options_.rounds = 2;
    options_.min_clients = 2;
    const Train train = [&](const RoundTask& task, int client) {
      AwaitSaid(task.round == 1 ? "bad-one is there" : until);
      return Trained(task.parameters, client);
    };
    Start(0, train);
    Start(1, train);
    threads_.emplace_back([&] {
      AwaitSaid("client-0 is there");
      AwaitSaid("client-1 is there");
      RawClient raw(place_);
      raw.SendHello(GoodHello("bad-one", options_.protection));
      const Welcome welcome = Must(WelcomeFromBytes(raw.Await(FrameKind::kWelcome)->body));
      bad(raw, *AwaitRound(raw, welcome));
      raw.Await(FrameKind::kHello);  // which does not come: until all is over
    });
    options_.say = [this](std::string_view line) { Note(line); };
    ASSERT_EQ(Run(), absl::OkStatus()) << said();
    JoinAll();
    EXPECT_THAT(said(), HasSubstr(until));
    EXPECT_THAT(said(), Not(HasSubstr("client-0 is left out: it has no")));
    EXPECT_LT(Distance(state_.parameters, Wanted({0, 1}, 2)),
              options_.protection.protection == Protection::kThreshold ? 1e-4 : 2e-5)
        << said();
  }
  // The same, with clients whose sums are protected, and what the bad one needs to take part.
  void RunProtected(Protection protection, const std::string& until,
                    const std::function<void(RawClient&, const BadRound&, const Protector&)>& bad) {
    options_.protection.protection = protection;
    const Protector protector = Must(Protector::Create(options_.protection, kValues));
    RunWith(until,
            [&](RawClient& raw, const BadRound& round) { return bad(raw, round, protector); });
    EXPECT_EQ(records_.back().attempts, 2u) << said();
    EXPECT_EQ(records_.back().clients.size(), 2u) << "those who followed the rules";
  }

  // All chunks of an update of these numbers, without the checks of a codec's client.
  static void SendUpdate(RawClient& raw, const BadRound& round, std::vector<float> values,
                         size_t chunk_values = size_t{1} << 16) {
    for (size_t at = 0; at < values.size(); at += chunk_values) {
      const auto chunk = uint32_t(at / chunk_values);
      const size_t count = std::min(chunk_values, values.size() - at);
      raw.Send(FrameKind::kUpdate, round.attempt, chunk,
               Message(round, chunk, std::span(values).subspan(at, count)));
    }
    raw.Send(FrameKind::kReport, round.attempt, 0, ToBytes(Report{.samples = 5}));
  }

  // With a good tag, whatever the numbers are.
  class AnyNumbers : public codec::ClientCodec {
   public:
    explicit AnyNumbers(const codec::CodecDescription& description) : description_(description) {}
    const codec::CodecDescription& description() const override { return description_; }
    absl::StatusOr<Bytes> Encode(ChunkId, std::span<const float> values) override {
      const auto* bytes = reinterpret_cast<const uint8_t*>(values.data());
      return Bytes(bytes, bytes + values.size_bytes());
    }
    absl::Status Decode(ChunkId, std::span<const uint8_t>, std::span<float>) override {
      return absl::OkStatus();
    }

   private:
    const codec::CodecDescription description_;
  };

  static Bytes Message(const BadRound& round, uint32_t chunk, std::span<const float> values) {
    const int position = int(round.start.position);
    const auto plain = Must(codec::PlainClient(codec::WireType::kFloat32, size_t{1} << 16));
    codec::UpdateClient client(std::make_unique<AnyNumbers>(plain->description()), position,
                               Must(codec::ClientTagKey(round.job, position)),
                               Must(codec::ServerTagKey(round.job)));
    return Must(client.Encode({round.attempt, chunk}, values));
  }
};

TEST_F(HostileTest, NaNIsLeftOutAndNamed) {
  RunWith("round 2: client bad-one is left out: ", [](RawClient& raw, const BadRound& round) {
    std::vector<float> values(kValues, 1);
    values[kValues - 2] = NAN;
    SendUpdate(raw, round, values);
    const Verdict verdict = Must(VerdictFromBytes(raw.Await(FrameKind::kVerdict)->body));
    EXPECT_FALSE(verdict.accepted);
    EXPECT_THAT(verdict.text, HasSubstr("NaN"));
  });
}

// The mean of such numbers, or their squares, would be infinite, and stay so.
TEST_F(HostileTest, NumbersWhoseMeanIsInfiniteAreLeftOutAndNamed) {
  RunWith("bad-one is left out: its update has numbers beyond 1e+12",
          [](RawClient& raw, const BadRound& round) {
            SendUpdate(raw, round, std::vector<float>(kValues, 3e38f));
          });
}

// They would stay in the second moment, and make all later steps nothing.
TEST_F(HostileTest, NumbersWhoseSquaresAreInfiniteAreLeftOutAndNamed) {
  RunWith("bad-one is left out: its update has numbers beyond 1e+12",
          [](RawClient& raw, const BadRound& round) {
            SendUpdate(raw, round, std::vector<float>(kValues, 1e20f));
          });
}

TEST_F(HostileTest, AShareOfTheJointKeyThatWasNotAnnouncedIsLeftOutAndNamed) {
  RunProtected(Protection::kThreshold, "bad-one is left out: the key share of client bad-one",
               [](RawClient& raw, const BadRound& round, const Protector& protector) {
                 const auto client = Must(MakeThresholdClient(
                     protector.context(), round.facts(protector), round.position()));
                 raw.Send(FrameKind::kReply, round.attempt, 0, Must(client->FirstReply()));
                 const Bytes note = raw.Await(FrameKind::kNote)->body;
                 Bytes share = *Must(client->TakeNote(0, note));
                 share[share.size() - sizeof(Hash) - 1] ^= 1;  // before its tag
                 raw.Send(FrameKind::kReply, round.attempt, 1, share);
               });
  EXPECT_THAT(said(), HasSubstr("is not the one that it committed to"));
}

TEST_F(HostileTest, AShareOfTheJointKeyForAnotherClientIsLeftOutAndNamed) {
  RunProtected(Protection::kThreshold, "bad-one is left out: the key share of client bad-one",
               [](RawClient& raw, const BadRound& round, const Protector& protector) {
                 const int other = (round.position() + 1) % 3;
                 const auto client =
                     Must(MakeThresholdClient(protector.context(), round.facts(protector), other));
                 const Bytes commitment = Must(client->FirstReply());
                 raw.Send(FrameKind::kReply, round.attempt, 0, commitment);
                 raw.Await(FrameKind::kNote);
                 const std::vector<Bytes> all(3, commitment);
                 raw.Send(FrameKind::kReply, round.attempt, 1,
                          *Must(client->TakeNote(0, ListToBytes(all))));
               });
  EXPECT_THAT(said(), HasSubstr("says that it is client"));
}

// What it advertises once `change` was there.
auto Advertising(const std::function<void(masked::Advertisement&)>& change) {
  return [change](RawClient& raw, const BadRound& round, const Protector&) {
    const auto client = Must(masked::MaskedClient::Create(
        {.clients = int(round.start.samples.size()), .round = round.attempt}, round.position()));
    masked::Advertisement advertised = client.advertisement();
    change(advertised);
    raw.Send(FrameKind::kReply, round.attempt, 0, masked::ToBytes(advertised));
  };
}

TEST_F(HostileTest, AKeyForMasksThatIsThereTwiceIsLeftOutAndNamed) {
  RunProtected(Protection::kMasked,
               "bad-one is left out: masked sum: client bad-one advertises a key",
               Advertising([](masked::Advertisement& a) { a.masking = a.sealing; }));
}

TEST_F(HostileTest, AKeyForMasksOfSmallOrderIsLeftOutAndNamed) {
  RunProtected(Protection::kMasked, "bad-one is left out: masked sum: a key of client bad-one: ",
               Advertising([](masked::Advertisement& a) { a.masking = {}; }));
}

TEST_F(HostileTest, WhoseSharesNobodyCanOpenIsLeftOutAndNamed) {
  RunProtected(Protection::kMasked,
               "bad-one is left out: what is between it and 2 other clients is wrong",
               [](RawClient& raw, const BadRound& round, const Protector& protector) {
                 const auto client = Must(MakeClientProtocol(protector, round.facts(protector),
                                                             round.position(), std::nullopt));
                 raw.Send(FrameKind::kReply, round.attempt, 0, Must(client->FirstReply()));
                 const Bytes note = raw.Await(FrameKind::kNote)->body;
                 Bytes shares = *Must(client->TakeNote(0, note));
                 std::vector<Bytes> list = Must(ListFromBytes(shares, 3));
                 for (Bytes& sealed : list) sealed.back() ^= 1;
                 raw.Send(FrameKind::kReply, round.attempt, 1, ListToBytes(list));
               });
  // In the aggregator's lines, and, with a number, in the client's own.
  EXPECT_THAT(said(), HasSubstr("cannot take part in the sum: shares of client bad-one: "));
  EXPECT_THAT(said(), HasSubstr("; the aggregator's log says which is client "));
}

// Alone it is not believed; the round is done without it.
TEST_F(HostileTest, WhoAccusesAnotherAgainAndAgainIsNotAskedAnyMore) {
  options_.protection.protection = Protection::kMasked;
  RunWith("bad-one is left out: it cannot take part in the sum: really", [](RawClient& raw,
                                                                            const BadRound& round) {
    const uint32_t victim = (round.start.position + 1) % uint32_t(round.start.samples.size());
    std::optional<Frame> begin;
    uint64_t attempt = round.attempt;
    do {
      raw.Send(FrameKind::kDecline, attempt, kAccuses + victim, TextToBytes("really"));
      begin = raw.Await(FrameKind::kRound);
      if (begin) attempt = begin->header.attempt;
    } while (begin);
  });
  EXPECT_THAT(records_.back().attempts, ::testing::AllOf(::testing::Ge(3u), ::testing::Le(8u)))
      << said();
}

TEST_F(HostileTest, ATooLargeUpdateIsLeftOutAndNamed) {
  options_.max_update_norm = 1000;  // those of the good ones have a norm of about 200
  RunWith("bad-one is left out: its update has the norm ",
          [](RawClient& raw, const BadRound& round) {
            SendUpdate(raw, round, std::vector<float>(kValues, 1e6));
          });
}

TEST_F(HostileTest, AChunkOfAnotherSizeIsLeftOutAndNamed) {
  RunWith("bad-one is left out: ", [](RawClient& raw, const BadRound& round) {
    raw.Send(FrameKind::kUpdate, round.attempt, 0,
             Message(round, 0, std::vector<float>(100, 1.0f)));
    raw.Send(FrameKind::kUpdate, round.attempt, 1,
             Message(round, 1, std::vector<float>(100, 1.0f)));
    raw.Send(FrameKind::kReport, round.attempt, 0, ToBytes(Report{.samples = 5}));
  });
}

TEST_F(HostileTest, AnUpdateThatEndsTooEarlyIsLeftOutAndNamed) {
  RunWith("bad-one is left out: sent 1 chunks of an update, expected 2",
          [](RawClient& raw, const BadRound& round) {
            SendUpdate(raw, round, std::vector<float>(100, 1));
          });
}

TEST_F(HostileTest, AnUpdateWithTheTagOfAnotherIsLeftOut) {
  RunWith("bad-one is left out: ", [](RawClient& raw, BadRound round) {
    round.start.position = (round.start.position + 1) % 3;
    SendUpdate(raw, round, std::vector<float>(kValues, 1));
  });
}

// Recorded in the attempt before.
TEST_F(HostileTest, AnUpdateOfAnotherRoundIsLeftOut) {
  RunWith("bad-one is left out: ", [](RawClient& raw, const BadRound& round) {
    BadRound before = round;
    --before.attempt;
    const std::vector<float> values(kValues, 1);
    for (uint32_t chunk = 0; chunk < 2; ++chunk) {
      const size_t at = chunk * (size_t{1} << 16);
      raw.Send(FrameKind::kUpdate, round.attempt, chunk,
               Message(before, chunk,
                       std::span(values).subspan(at, std::min(size_t{1} << 16, kValues - at))));
    }
    raw.Send(FrameKind::kReport, round.attempt, 0, ToBytes(Report{.samples = 5}));
  });
}

// A number that the aggregator draws at every start is in the keys of tags: what a client has sent
// in the same attempt of another run, with the same secret, is nobody's now.
TEST_F(HostileTest, AnUpdateRecordedInAnotherRunIsLeftOut) {
  RunWith("bad-one is left out: ", [](RawClient& raw, BadRound round) {
    RunNonce other = round.nonce;
    other[0] ^= 1;
    round.job = Must(Job().Derive(kTagPurpose, other));
    SendUpdate(raw, round, std::vector<float>(kValues, 1));
    const Verdict verdict = Must(VerdictFromBytes(raw.Await(FrameKind::kVerdict)->body));
    EXPECT_THAT(verdict.text, HasSubstr("the tag does not fit"));
  });
}

// More and more of what it may send once.
TEST_F(HostileTest, AFloodEndsTheConnection) {
  RunWith("client bad-one has left: a frame \"update\" that nobody asked for",
          [](RawClient& raw, const BadRound& round) {
            for (int i = 0; i < 1000; ++i) {
              raw.Send(FrameKind::kUpdate, round.attempt, uint32_t(i), Bytes(1000));
            }
          });
}

// Most of them say nothing; two hundred at a time stay.
TEST_F(HostileTest, AThousandConnectionsStopNobody) {
  if (place_.datagrams) GTEST_SKIP() << "of TCP";
  options_.rounds = 2;
  options_.min_clients = 2;
  std::atomic<bool> connected = false;
  threads_.emplace_back([&] {
    const SocketAddress address = Must(Resolve(place_.address)).front();
    std::deque<Socket> open;
    for (int i = 0; i < 1000; ++i) {
      absl::StatusOr<Socket> socket = StartConnecting(address);
      if (!socket.ok()) continue;
      if (i % 3 == 0) send(socket->descriptor(), "GET / HTTP/1.1\r\n", 16, MSG_NOSIGNAL);
      open.push_back(*std::move(socket));
      if (open.size() > 200) open.pop_front();
      if (i % 10 == 0) std::this_thread::sleep_for(milliseconds(1));
    }
    connected = true;
    AwaitSaid("client-1 is there");
  });
  for (int client = 0; client < 2; ++client) {
    Start(client, [&](const RoundTask& task, int self) {
      while (!connected) std::this_thread::sleep_for(milliseconds(1));
      return Trained(task.parameters, self);
    });
  }
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
  JoinAll();
  EXPECT_LT(Distance(state_.parameters, Wanted({0, 1}, 2)), 2e-5);
}

TEST_F(HostileTest, AReportThatLiesIsLeftOut) {
  RunWith("bad-one is left out: report: loss is nan", [](RawClient& raw, const BadRound& round) {
    std::vector<float> values(kValues, 1);
    for (uint32_t chunk = 0; chunk < 2; ++chunk) {
      const size_t at = chunk * (size_t{1} << 16);
      raw.Send(FrameKind::kUpdate, round.attempt, chunk,
               Message(round, chunk,
                       std::span(values).subspan(at, std::min(size_t{1} << 16, kValues - at))));
    }
    raw.Send(FrameKind::kReport, round.attempt, 0,
             ToBytes(Report{.samples = 5, .metrics = {{"loss", NAN}}}));
  });
}

// 4 GiB are announced: the connection ends before memory is taken for them.
TEST_F(HostileTest, ALengthBeyondTheLimitEndsTheConnection) {
  RunWith("client bad-one has left: a frame \"update\" of 4294967295 bytes",
          [](RawClient& raw, const BadRound& round) {
            Bytes header = ToBytes(FrameHeader{
                .kind = FrameKind::kUpdate, .bytes = 0xffffffff, .attempt = round.attempt});
            raw.SendBytes(header);
          });
}

TEST_F(HostileTest, AFrameThatNobodyAskedForEndsTheConnection) {
  RunWith("client bad-one has left: a frame \"answer\" that nobody asked for",
          [](RawClient& raw, const BadRound& round) {
            raw.Send(FrameKind::kAnswer, round.attempt, 0, Bytes(10));
          });
}

TEST_F(HostileTest, BytesThatAreNoFrameEndTheConnection) {
  RunWith("client bad-one has left: these bytes are not a frame",
          [](RawClient& raw, const BadRound&) { raw.SendBytes(Bytes(100, 0xa5)); });
}

// It stops in the middle of its update; the round ends at the deadline without it.
TEST_F(HostileTest, OneThatStopsInTheMiddleIsWaitedForUntilTheDeadline) {
  options_.deadline = milliseconds(3000);
  RunWith("bad-one is there", [](RawClient& raw, const BadRound& round) {
    raw.Send(FrameKind::kUpdate, round.attempt, 0,
             Message(round, 0, std::vector<float>(size_t{1} << 16, 1.0f)));
  });
  EXPECT_THAT(said(), HasSubstr("client bad-one is left out: it had no update at the deadline"));
}

// A client that follows the rules as long as a test wants it to.
struct Participant {
  std::unique_ptr<ClientProtocol> protocol;
  std::unique_ptr<codec::UpdateClient> codec;

  // From the notes to the report, with which it sends `more`; its update is ones. Null where the
  // attempt ends before.
  static std::optional<Participant> Of(RawClient& raw, const BadRound& round,
                                       const Protector& protector, const Bytes& more = {}) {
    Participant self = {.protocol = Must(MakeClientProtocol(protector, round.facts(protector),
                                                            round.position(), std::nullopt)),
                        .codec = nullptr};
    raw.Send(FrameKind::kReply, round.attempt, 0, Must(self.protocol->FirstReply()));
    for (int note = 0; note < self.protocol->setup_notes(); ++note) {
      const std::optional<Frame> frame = raw.AwaitInRound(FrameKind::kNote);
      if (!frame) return std::nullopt;
      const std::optional<Bytes> reply = Must(self.protocol->TakeNote(note, frame->body));
      if (reply) raw.Send(FrameKind::kReply, round.attempt, uint32_t(note) + 1, *reply);
    }
    self.codec = std::make_unique<codec::UpdateClient>(
        Must(self.protocol->MakeCodec()), round.position(),
        Must(codec::ClientTagKey(round.job, round.position())),
        Must(codec::ServerTagKey(round.job)));
    const size_t most = protector.chunk_values();
    const std::vector<float> ones(most, 1);
    const size_t values = protector.sum_values(kValues);
    for (uint32_t chunk = 0; chunk < protector.chunks(values); ++chunk) {
      const size_t count = std::min(most, values - chunk * most);
      raw.Send(FrameKind::kUpdate, round.attempt, chunk,
               Must(self.codec->Encode({round.attempt, chunk}, std::span(ones).first(count))));
    }
    const Bytes report = ToBytes(Report{.samples = 5});
    Bytes last = ToBytes(FrameHeader{
        .kind = FrameKind::kReport, .bytes = uint32_t(report.size()), .attempt = round.attempt});
    last.insert(last.end(), report.begin(), report.end());
    last.insert(last.end(), more.begin(), more.end());
    raw.SendBytes(last);
    return self;
  }
};

// Its answer comes when the round is over without it. It stays, and is asked in the next one.
TEST_F(FederationTest, WhoAnswersTheLastNoteTooLateStays) {
  options_.protection.protection = Protection::kMasked;
  options_.rounds = 2;
  options_.min_clients = 4;
  options_.deadline = milliseconds(8000);
  const Protector protector = Must(Protector::Create(options_.protection, kValues));
  for (int client = 0; client < 3; ++client) Start(client);
  int late = 0;
  threads_.emplace_back([&] {
    RawClient raw(place_);
    raw.SendHello(GoodHello("late-one", options_.protection));
    const Welcome welcome = Must(WelcomeFromBytes(raw.Await(FrameKind::kWelcome)->body));
    while (const std::optional<BadRound> round = AwaitRound(raw, welcome)) {
      const std::optional<Participant> self = Participant::Of(raw, *round, protector);
      const std::optional<Frame> note =
          self ? raw.AwaitInRound(FrameKind::kNote) : std::optional<Frame>();
      if (!note) continue;  // a busy machine was too slow for the deadline
      const Bytes reply = *Must(self->protocol->TakeNote(2, note->body));
      if (!raw.AwaitInRound(FrameKind::kVerdict)) continue;
      raw.Send(FrameKind::kReply, round->attempt, 2, reply);
      ++late;
    }
  });
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
  JoinAll();
  EXPECT_THAT(said(), Not(HasSubstr("nobody asked for")));
  EXPECT_GE(late, 2) << "once in each round: none has a sum without it\n" << said();
}

// It breaks a rule while its update is being added, which counts all the same.
TEST_F(FederationTest, WhoseUpdateCountsIsNotSaidToBeLeftOut) {
  options_.protection.protection = Protection::kMasked;
  options_.rounds = 1;
  options_.min_clients = 4;  // the shares of the other three suffice
  const Protector protector = Must(Protector::Create(options_.protection, kValues));
  threads_.emplace_back([&] {
    RawClient raw(place_);
    raw.SendHello(GoodHello("hasty-one", options_.protection));
    const Welcome welcome = Must(WelcomeFromBytes(raw.Await(FrameKind::kWelcome)->body));
    const BadRound round = *AwaitRound(raw, welcome);
    // What it would reply to a note that it has not got.
    ASSERT_TRUE(Participant::Of(
        raw, round, protector,
        ToBytes(FrameHeader{.kind = FrameKind::kReply, .attempt = round.attempt, .index = 2})));
    raw.Await(FrameKind::kHello);  // until all is over
  });
  for (const int client : {0, 1, 2}) Start(client);
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
  JoinAll();
  EXPECT_EQ(records_.back().attempts, 1u) << said();
  EXPECT_THAT(said(), Not(HasSubstr("hasty-one is left out")));
  EXPECT_THAT(said(),
              HasSubstr("client hasty-one: its update is used, although replies to note 2"));
}

// It says that it decrypts the sum, and gives random bytes: the attempt fails after the others have
// given their parts, and the aggregator may have read what it wants of it.
TEST_F(FederationTest, ASumThatWasOpenedIsAccountedForAlsoWhereItFails) {
  options_.protection = {.protection = Protection::kThreshold, .privacy = {.clip = 5, .noise = 2}};
  options_.rounds = 1;
  options_.min_clients = 2;
  options_.strategy.strategy = Strategy::kAvg;  // all count alike, however few samples they have
  const Protector protector = Must(Protector::Create(options_.protection, kValues));
  threads_.emplace_back([&] {
    RawClient raw(place_);
    raw.SendHello(GoodHello("bad-one", options_.protection));
    const Welcome welcome = Must(WelcomeFromBytes(raw.Await(FrameKind::kWelcome)->body));
    const BadRound round = *AwaitRound(raw, welcome);
    const std::optional<Participant> self = Participant::Of(raw, round, protector);
    if (self && raw.AwaitInRound(FrameKind::kQuestion)) {
      raw.Send(FrameKind::kAnswer, round.attempt, 0, Bytes(100, 7));
    }
    raw.Await(FrameKind::kHello);  // until all is over
  });
  Start(0, nullptr, "bad-one is there");
  Start(1, nullptr, "bad-one is there");
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
  JoinAll();
  EXPECT_THAT(said(), HasSubstr("client bad-one is left out: "));
  ASSERT_EQ(records_.size(), 1u);
  EXPECT_EQ(records_[0].attempts, 2u) << said();
  RenyiAccountant read, model;
  read.Add(1, 2, 2);
  model.Add(1, 2);
  EXPECT_DOUBLE_EQ(records_[0].epsilons->aggregator, read.Epsilon(1e-5));
  EXPECT_DOUBLE_EQ(records_[0].epsilons->model, model.Epsilon(1e-5));
}

// With threshold keys every loss takes the attempt with it.
TEST_F(FederationTest, AClientThatFlapsIsNotAskedForEver) {
  options_.protection.protection = Protection::kThreshold;
  options_.rounds = 1;
  options_.min_clients = 3;
  threads_.emplace_back([&] {
    for (bool asked = true; asked;) {
      RawClient raw(place_);
      raw.SendHello(GoodHello("flapping", options_.protection));
      asked = raw.Await(FrameKind::kRound).has_value();
    }
  });
  for (int client = 0; client < 3; ++client) Start(client, nullptr, "client flapping is there");
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
  EXPECT_LE(records_.back().attempts, 5u) << said();
}

// One that would do in its place is there, but has not ended the first attempt.
TEST_F(FederationTest, AClientThatFlappedIsAskedWhereTheOthersAreBusyForLong) {
  options_.protection.protection = Protection::kThreshold;
  options_.rounds = 1;
  options_.min_clients = 3;
  options_.timeout = std::chrono::seconds(20);
  threads_.emplace_back([&] {
    RawClient raw(place_);
    raw.SendHello(GoodHello("busy", options_.protection));
    raw.Await(FrameKind::kHello);  // until all is over
  });
  threads_.emplace_back([&] {
    AwaitSaid("client busy is there");
    for (int loss = 0; loss < 3; ++loss) {
      RawClient raw(place_);
      raw.SendHello(GoodHello("client-2", options_.protection));
      raw.Await(FrameKind::kRound);
    }
    Note("it has flapped");
  });
  for (const int client : {0, 1}) Start(client, nullptr, "client client-2 is there");
  Start(2, nullptr, "it has flapped");
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
  EXPECT_EQ(records_.back().attempts, 4u) << said();
}

TEST_F(FederationTest, TheSecondClientOfANameEndsTheFirst) {
  options_.rounds = 1;
  options_.min_clients = 2;
  absl::Status first;
  threads_.emplace_back([&] {
    const auto self = Must(FederationClient::Create(OptionsOf(0), Job()));
    first = self->Next().status();
  });
  threads_.emplace_back([&] {
    AwaitSaid("client-0 is there");
    const auto second = Must(FederationClient::Create(OptionsOf(0), Job()));
    std::thread other([&] {
      AwaitSaid("client-0 has come again");
      const auto self = Must(FederationClient::Create(OptionsOf(1), Job()));
      const RoundTask task = Must(self->Next());
      EXPECT_EQ(self->Submit(Trained(task.parameters, 1), {.samples = 1}), absl::OkStatus());
      EXPECT_TRUE(Must(self->Next()).over);
    });
    const RoundTask task = Must(second->Next());
    EXPECT_EQ(second->Submit(Trained(task.parameters, 0), {.samples = 1}), absl::OkStatus());
    EXPECT_TRUE(Must(second->Next()).over);
    other.join();
  });
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
  JoinAll();
  EXPECT_TRUE(absl::IsFailedPrecondition(first)) << first;
  EXPECT_THAT(std::string(first.message()), HasSubstr("come under the name client-0"));
}

// It comes first, and takes nobody's place.
TEST_F(FederationTest, ThoseWhoShareTheKeyThatMostHaveTakePart) {
  options_.protection.protection = Protection::kSharedKey;
  options_.rounds = 2;
  threads_.emplace_back([&] {
    ClientOptions options = OptionsOf(7);
    options.key = Must(RandomSecret());
    const auto self = Must(FederationClient::Create(options, Job()));
    const absl::Status status = self->Next().status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("it has another key"));
  });
  for (int client = 0; client < 3; ++client) Start(client, nullptr, "client-7 is there");
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
  JoinAll();
  ASSERT_EQ(final_.size(), 3u);
  for (const auto& [client, parameters] : final_) {
    EXPECT_LT(Distance(parameters, Wanted({0, 1, 2}, 2)), 2e-5) << client;
  }
}

// A client of the first version says hello. The answer is a frame of this version, which it refuses
// by its version, too.
TEST_F(FederationTest, AClientOfAnotherVersionIsToldSo) {
  options_.rounds = 1;
  options_.min_clients = 1;
  threads_.emplace_back([&] {
    RawClient raw(place_);
    Bytes hello = ToBytes(FrameHeader{.kind = FrameKind::kHello});
    hello[1] = 1;
    raw.SendBytes(hello);
    const std::optional<Frame> frame = raw.Await(FrameKind::kRefusal);
    EXPECT_EQ(frame ? TextFromBytes(frame->body) : "no refusal",
              StrCat("frames of version 1, this program has version ", int{kFrameVersion},
                     "; start the same program on all hosts"));
  });
  Start(0, nullptr, "frames of version 1");
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
}

// A client that does not fit is refused before it takes part.
TEST_F(FederationTest, ClientsThatDoNotFitAreRefusedWithTheReason) {
  options_.rounds = 1;
  options_.min_clients = 1;
  std::atomic<bool> tried = false;
  threads_.emplace_back([&] {
    const auto refusal = [&](const Hello& hello) {
      RawClient raw(place_);
      raw.SendHello(hello);
      const std::optional<Frame> frame = raw.Await(FrameKind::kRefusal);
      return frame ? TextFromBytes(frame->body) : "no refusal";
    };
    Hello hello = GoodHello("client-9");
    hello.model.values = 3;
    EXPECT_EQ(refusal(hello),
              "its network has 3 numbers, the aggregator's 70001; the model must be the same for "
              "the aggregator and all clients");
    hello = GoodHello("client-9");
    hello.model.network[3] = 1;
    EXPECT_THAT(refusal(hello), HasSubstr("its network differs"));
    hello = GoodHello("client-9");
    hello.model.local[0] = 1;
    EXPECT_EQ(refusal(hello),
              "this client keeps some parameters local, this federation exchanges all; local "
              "parameters must be the same for the aggregator and all clients");
    hello.model.values = 3;
    EXPECT_THAT(refusal(hello), HasSubstr("keeps some parameters local"));
    hello = GoodHello("client-9");
    hello.protection = "masks";
    EXPECT_EQ(refusal(hello), "its updates have masks, this federation's no encryption");
    EXPECT_THAT(refusal(GoodHello("../../etc")), HasSubstr("a client's name is 1 to 64 letters"));
    hello = GoodHello("client-9");
    hello.samples = 0;
    EXPECT_THAT(refusal(hello), HasSubstr("0 samples"));
    tried = true;
  });
  Start(0, [&](const RoundTask& task, int client) {
    while (!tried) std::this_thread::sleep_for(milliseconds(1));
    return Trained(task.parameters, client);
  });
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
}

TEST_F(FederationTest, AStrangerWithoutTheSecretIsRefused) {
  options_.rounds = 1;
  options_.min_clients = 1;
  std::atomic<bool> tried = false;
  threads_.emplace_back([&] {
    ClientOptions options = OptionsOf(8);
    // On a broker its topics are others, so nobody hears it.
    if (place_.datagrams) options.timeout = milliseconds(500);
    const auto self =
        Must(FederationClient::Create(options, Must(JobSecret::Of(std::string(40, 'x')))));
    const absl::Status status = self->Next().status();
    EXPECT_TRUE(absl::IsPermissionDenied(status) ||
                (place_.datagrams && absl::IsUnavailable(status)))
        << status;
    tried = true;
  });
  Start(0, [&](const RoundTask& task, int client) {
    while (!tried) std::this_thread::sleep_for(milliseconds(1));
    return Trained(task.parameters, client);
  });
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
}

}  // namespace
}  // namespace dtnn::federation
