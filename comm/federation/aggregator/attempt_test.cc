#include "comm/federation/aggregator/attempt.h"

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "comm/federation/hidden_metrics.h"
#include "comm/secrets/ckks/message.h"
#include "comm/secrets/crypto/random_secret.h"
#include "comm/secrets/masked/masked_parameters.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn::federation {
namespace {

using std::chrono::seconds;
using ::testing::Each;
using ::testing::Field;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr size_t kValues = 10;
constexpr uint64_t kNumber = 3;

// What the client at a position contributes, times its factor of 1.
float NumberOf(int position) { return float(1 << position % 7); }

// Its part of a decryption is well formed, but one number of it is another one.
class LiesAboutSums : public codec::ClientCodec {
 public:
  LiesAboutSums(std::unique_ptr<codec::ClientCodec> codec, const ckks::CkksContext& context)
      : codec_(std::move(codec)), context_(context) {}
  const codec::CodecDescription& description() const override { return codec_->description(); }
  absl::StatusOr<Bytes> Encode(ChunkId id, std::span<const float> values) override {
    return codec_->Encode(id, values);
  }
  absl::StatusOr<Bytes> Answer(ChunkId id, std::span<const uint8_t> question) override {
    ckks::Message part = Must(ckks::MessageFromBytes(
        context_, ckks::MessageKind::kPartialDecryption, Must(codec_->Answer(id, question))));
    uint64_t& number = part.polynomials[0][5];
    number = number == 0 ? 1 : number - 1;
    return ckks::MessageToBytes(context_, ckks::MessageKind::kPartialDecryption, part.number, {},
                                {part.polynomials[0]});
  }
  absl::Status Decode(ChunkId id, std::span<const uint8_t> result,
                      std::span<float> values) override {
    return codec_->Decode(id, result, values);
  }

 private:
  const std::unique_ptr<codec::ClientCodec> codec_;
  const ckks::CkksContext& context_;
};

// An attempt, and clients that follow the protocol but where a test has them send something else.
class AttemptTest : public ::testing::Test {
 protected:
  void Begin(Protection protection, int clients, int quorum, size_t values = kValues) {
    values_ = values;
    protector_ = Must(
        Protector::Create({.protection = protection, .mask_neighbours = mask_neighbours_}, values));
    std::vector<Asked> asked;
    clients_.clear();
    updates_.clear();
    replies_.assign(size_t(clients), 0);
    for (int i = 0; i < clients; ++i) {
      asked.push_back({.name = StrCat("client-", i), .samples = 1, .factor = factor_});
    }
    const SumFacts sum = {.attempt = kNumber,
                          .participants = clients,
                          .chunks = protector_->chunks(protector_->sum_values(values))};
    for (int i = 0; i < clients; ++i) {
      clients_.push_back(Must(MakeClientProtocol(*protector_, sum, i, std::nullopt)));
    }
    attempt_ = Must(
        Attempt::Create({.number = kNumber,
                         .quorum = quorum,
                         .deadline = deadline_,
                         .receive_bytes = receive_bytes_},
                        *protector_, job_, values, {}, std::move(asked),
                        [this](int position, FrameKind kind, uint32_t index, SharedBytes body) {
                          notes_.push_back({kind, position, index, std::move(body)});
                        }));
    attempt_->Advance(now_);
    for (int i = 0; i < clients; ++i) {
      if (clients_[size_t(i)]->setup_notes() > 0) {
        Reply(i, Must(clients_[size_t(i)]->FirstReply()));
      }
    }
    Deliver();
  }

  // As the aggregator does with what comes from a connection.
  void Send(int position, FrameKind kind, uint32_t index, Bytes body) {
    const FrameHeader header = {
        .kind = kind, .bytes = uint32_t(body.size()), .attempt = kNumber, .index = index};
    const std::optional<size_t> most = attempt_->Allowed(position, header);
    ASSERT_TRUE(most && body.size() <= *most)
        << index << ": the connection would end, " << body.size();
    attempt_->Take(position, {.header = header, .body = std::move(body)});
    attempt_->Advance(now_);
  }

  void Reply(int position, Bytes body) {
    Send(position, FrameKind::kReply, replies_[size_t(position)]++, std::move(body));
  }

  // Notes and questions, and the replies to them. `change` may make another reply.
  void Deliver() {
    while (!notes_.empty()) {
      const Note note = std::move(notes_.front());
      notes_.pop_front();
      if (note.kind == FrameKind::kQuestion) {
        Send(note.position, FrameKind::kAnswer, note.index,
             Must(updates_.at(note.position)->Answer({kNumber, note.index}, *note.body)));
        continue;
      }
      ASSERT_EQ(note.kind, FrameKind::kNote);
      if (skip_ && skip_(note)) continue;
      std::optional<Bytes> reply =
          Must(clients_[size_t(note.position)]->TakeNote(int(note.index), *note.body));
      if (!reply) continue;
      if (change_) change_(note.position, *reply);
      Reply(note.position, *std::move(reply));
    }
  }

  void SendUpdate(int position, Report report = {.samples = 1}) {
    std::unique_ptr<codec::ClientCodec> codec = Must(clients_[size_t(position)]->MakeCodec());
    if (position == liar_)
      codec = std::make_unique<LiesAboutSums>(std::move(codec), *protector_->context());
    auto client = std::make_unique<codec::UpdateClient>(std::move(codec), position,
                                                        Must(codec::ClientTagKey(job_, position)),
                                                        Must(codec::ServerTagKey(job_)));
    const size_t most = protector_->chunk_values();
    const size_t all = protector_->sum_values(values_);
    std::vector<float> numbers(values_, NumberOf(position));
    if (all > values_) {
      const std::vector<float> hidden = HideMetrics(report.metrics);
      numbers.insert(numbers.end(), hidden.begin(), hidden.end());
    }
    for (size_t at = 0; at < all; at += most) {
      const auto values = std::span(numbers).subspan(at, std::min(most, all - at));
      const auto chunk = uint32_t(at / most);
      Send(position, FrameKind::kUpdate, chunk, Must(client->Encode({kNumber, chunk}, values)));
    }
    updates_[position] = std::move(client);
    Send(position, FrameKind::kReport, 0, ToBytes(report));
  }
  void SendUpdates(int from, int to) {
    for (int i = from; i < to; ++i) SendUpdate(i);
    Deliver();
  }

  const Asked& asked(int position) const { return attempt_->asked()[size_t(position)]; }

  // The sum of these clients, and no others.
  void ExpectMeanOf(const std::vector<int>& positions) {
    ASSERT_TRUE(attempt_->over());
    ASSERT_EQ(attempt_->failure(), absl::OkStatus());
    float sum = 0;
    for (const int i : positions) sum += NumberOf(i);
    const float mean = sum / float(positions.size());
    EXPECT_THAT(attempt_->average(), Each(FloatNear(mean, 1e-4f)));
    for (int i = 0; i < int(attempt_->asked().size()); ++i) {
      EXPECT_EQ(asked(i).state == Asked::State::kAccepted, std::ranges::count(positions, i) == 1)
          << i;
    }
  }

  // Makes the shares that a client reveals of those clients' secrets wrong.
  void Twist(int position, const std::vector<int>& of) {
    change_ = [this, position, of](int from, Bytes& reply) {
      const masked::MaskedParameters parameters = {.clients = int(clients_.size()),
                                                   .round = kNumber};
      absl::StatusOr<masked::Reveal> reveal = masked::RevealFromBytes(parameters, reply);
      if (from != position || !reveal.ok()) return;
      for (masked::Reveal::Entry& entry : reveal->entries) {
        if (std::ranges::count(of, entry.client) > 0) entry.share.bytes()[5] ^= 9;
      }
      reply = masked::ToBytes(*reveal);
    };
  }

  struct Note {
    FrameKind kind;
    int position;
    uint32_t index;
    SharedBytes body;
  };

  size_t values_ = 0;
  double factor_ = 1;  // of every client
  uint64_t receive_bytes_ = uint64_t{1} << 30;
  seconds deadline_{40};
  int mask_neighbours_ = 0;
  const Secret job_ = Must(RandomSecret());
  Attempt::Clock::time_point now_ = Attempt::Clock::now();
  std::optional<Protector> protector_;
  std::unique_ptr<Attempt> attempt_;
  std::vector<std::unique_ptr<ClientProtocol>> clients_;
  std::map<int, std::unique_ptr<codec::UpdateClient>> updates_;  // of those that have sent one
  std::vector<uint32_t> replies_;                                // that each has sent
  std::deque<Note> notes_;
  std::function<bool(const Note&)> skip_;  // which its client does not get
  std::function<void(int position, Bytes& reply)> change_;
  int liar_ = -1;  // decrypts something else than the sum
};

TEST_F(AttemptTest, TheMeanOfAllWhoAnswer) {
  for (const Protection protection :
       {Protection::kNone, Protection::kMasked, Protection::kThreshold}) {
    Begin(protection, 4, 2);
    SendUpdates(0, 4);
    ExpectMeanOf({0, 1, 2, 3});
    EXPECT_EQ(attempt_->opened(), protection == Protection::kNone ? 0 : 4);
    EXPECT_THAT(attempt_->asked(), Each(Field(&Asked::why, IsEmpty())));
  }
}

// Before a frame's memory is allocated.
TEST_F(AttemptTest, FramesAreAllowedInTheirOrderAndUpToTheirSize) {
  Begin(Protection::kNone, 2, 1);
  const auto allowed = [&](FrameKind kind, uint32_t index, uint64_t number = kNumber) {
    return attempt_->Allowed(0, {.kind = kind, .attempt = number, .index = index});
  };
  EXPECT_EQ(allowed(FrameKind::kReport, 0), 8192);
  EXPECT_EQ(allowed(FrameKind::kDecline, 0), 8192);
  EXPECT_GE(allowed(FrameKind::kUpdate, 0).value_or(0), kValues * sizeof(float));
  EXPECT_EQ(allowed(FrameKind::kReply, 0), 1048576);
  for (const FrameKind kind : {FrameKind::kReport, FrameKind::kUpdate, FrameKind::kReply}) {
    EXPECT_EQ(allowed(kind, 0, kNumber + 1), std::nullopt) << "of another attempt";
  }
  EXPECT_EQ(allowed(FrameKind::kUpdate, 1), std::nullopt) << "there is one chunk";
  EXPECT_EQ(allowed(FrameKind::kReply, 1), std::nullopt);
  EXPECT_EQ(allowed(FrameKind::kAnswer, 0), std::nullopt) << "nothing is asked";
  EXPECT_EQ(allowed(FrameKind::kNote, 0), std::nullopt) << "the aggregator sends these";
  SendUpdates(0, 1);
  for (const FrameKind kind : {FrameKind::kReport, FrameKind::kDecline, FrameKind::kUpdate}) {
    EXPECT_EQ(allowed(kind, 0), std::nullopt) << "a second one";
  }
}

TEST_F(AttemptTest, WhoAnswersTooLateIsLeftOut) {
  Begin(Protection::kMasked, 4, 2);
  SendUpdates(0, 3);
  EXPECT_FALSE(attempt_->over());
  attempt_->Advance(now_ + seconds(41));
  Deliver();
  ExpectMeanOf({0, 1, 2});
  EXPECT_THAT(asked(3).why, HasSubstr("no update at the deadline"));
}

size_t AllocatedBytes() {
  const struct mallinfo2 info = mallinfo2();  // zeros under sanitizers
  return info.uordblks + info.hblkhd;
}

// The aggregator keeps it for as long as a slow client takes to answer.
TEST_F(AttemptTest, WhenItIsOverTheUpdatesAreFreed) {
  const size_t values = size_t{1} << 20;
  Begin(Protection::kNone, 3, 2, values);
  const size_t before = AllocatedBytes();
  SendUpdates(0, 2);
  EXPECT_FALSE(attempt_->over());
  attempt_->Advance(now_ + seconds(41));
  EXPECT_EQ(attempt_->average().size(), values);
  EXPECT_LT(AllocatedBytes(), before + 5 * values) << "the sum alone";
  attempt_->Forget();
  EXPECT_LT(AllocatedBytes(), before + values);
}

// Nobody has asked for a reply; its update was accepted already. A plain one is in the sum then.
TEST_F(AttemptTest, WhoBreaksTheRulesAfterItsUpdateIsNamedAndLeftOutWhereThatIsPossible) {
  for (const Protection protection : {Protection::kNone, Protection::kMasked}) {
    Begin(protection, 4, 2);
    SendUpdates(0, 1);
    Reply(0, Bytes(7));
    EXPECT_TRUE(asked(0).at_fault);
    EXPECT_THAT(asked(0).why, HasSubstr("before it was sent"));
    SendUpdates(1, 4);
    ExpectMeanOf(protection == Protection::kNone ? std::vector{0, 1, 2, 3} : std::vector{1, 2, 3});
  }
}

TEST_F(AttemptTest, PlainUpdatesThatAreAddedTakeNoMemory) {
  const size_t values = size_t{1} << 20;
  Begin(Protection::kNone, 20, 2, values);
  SendUpdate(19);
  const size_t before = AllocatedBytes();
  SendUpdates(0, 19);
  ASSERT_TRUE(attempt_->over());
  EXPECT_LT(AllocatedBytes(), before + 5 * values) << "the mean; the sum is gone";
  ExpectMeanOf({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19});
}

// Updates have more than one chunk.
class CrowdedAttemptTest : public AttemptTest {
 protected:
  static constexpr size_t kMany = 100000;

  // Room for two updates.
  CrowdedAttemptTest() {
    receive_bytes_ = 1;
    Begin(Protection::kNone, 4, 2, kMany);
  }
  std::optional<size_t> MaySend(int position, uint32_t chunk) {
    return attempt_->Allowed(position,
                             {.kind = FrameKind::kUpdate, .attempt = kNumber, .index = chunk});
  }
  void Begun(int position) {
    ASSERT_NE(MaySend(position, 0), Channel::kLater);
    Send(position, FrameKind::kUpdate, 0, Bytes(9));
  }
};

TEST_F(CrowdedAttemptTest, ClientsWaitUntilAnUpdateIsComplete) {
  ASSERT_NE(MaySend(0, 0), Channel::kLater);
  Begun(1);
  EXPECT_EQ(MaySend(2, 0), Channel::kLater);
  EXPECT_EQ(MaySend(3, 0), Channel::kLater);
  EXPECT_NE(MaySend(1, 1), Channel::kLater) << "it has begun";
  EXPECT_EQ(MaySend(2, 1), std::nullopt) << "out of order";
  SendUpdate(0);
  EXPECT_EQ(asked(0).state, Asked::State::kAccepted);
  EXPECT_NE(MaySend(2, 0), Channel::kLater);
  EXPECT_EQ(MaySend(3, 0), Channel::kLater);
  attempt_->Lose(1, "it is gone");
  EXPECT_NE(MaySend(3, 0), Channel::kLater);
  SendUpdate(2);
  SendUpdate(3);
  ExpectMeanOf({0, 2, 3});
}

TEST_F(CrowdedAttemptTest, OneThatStopsLosesItsPlaceWhereOthersWait) {
  deadline_ = seconds(400);
  Begin(Protection::kNone, 4, 2, kMany);
  Begun(0);
  Begun(1);
  attempt_->Advance(now_ + seconds(30));
  EXPECT_EQ(asked(0).state, Asked::State::kWaiting) << "nobody waits";
  EXPECT_EQ(MaySend(2, 0), Channel::kLater);
  attempt_->Advance(now_ + seconds(29));
  EXPECT_EQ(asked(0).state, Asked::State::kWaiting) << "not for long enough";
  EXPECT_EQ(MaySend(2, 0), Channel::kLater);
  attempt_->Advance(now_ + seconds(30));
  for (const int i : {0, 1}) {
    EXPECT_EQ(asked(i).state, Asked::State::kLeftOut);
    EXPECT_EQ(asked(i).why, "its update has stopped after 1 of 2 chunks, and other clients wait");
    EXPECT_FALSE(asked(i).at_fault) << "its network may be slow";
  }
  EXPECT_NE(MaySend(0, 1), Channel::kLater) << "what it still sends is counted, and dropped";
  SendUpdate(2);
  SendUpdate(3);
  ExpectMeanOf({2, 3});
}

// The attempt has 40 seconds.
TEST_F(CrowdedAttemptTest, OneThatTricklesLosesItsPlaceAfterAQuarterOfTheDeadline) {
  Begin(Protection::kNone, 4, 2, 5 * kMany);
  Begun(0);
  Begun(1);
  for (uint32_t chunk = 1; chunk < 3; ++chunk) {
    now_ += seconds(4);
    attempt_->Advance(now_);
    Send(0, FrameKind::kUpdate, chunk, Bytes(9));
    Send(1, FrameKind::kUpdate, chunk, Bytes(9));
    EXPECT_EQ(MaySend(2, 0), Channel::kLater);
  }
  now_ += seconds(5);
  attempt_->Advance(now_);
  EXPECT_EQ(asked(0).state, Asked::State::kWaiting) << "others have waited for nine seconds";
  EXPECT_EQ(MaySend(2, 0), Channel::kLater);
  now_ += seconds(1);
  attempt_->Advance(now_);
  EXPECT_EQ(asked(0).why, "its update is slow: 3 of 8 chunks, and other clients wait");
  EXPECT_NE(MaySend(2, 0), Channel::kLater);
}

// However long it has taken before.
TEST_F(CrowdedAttemptTest, OneThatIsSlowMayGoOnWhenOthersBeginToWait) {
  Begun(0);
  Begun(1);
  now_ += seconds(25);
  attempt_->Advance(now_);
  attempt_->Hear(0);
  attempt_->Hear(1);
  EXPECT_EQ(MaySend(2, 0), Channel::kLater);
  now_ += seconds(9);
  attempt_->Advance(now_);
  EXPECT_EQ(asked(0).state, Asked::State::kWaiting);
}

// A chunk may take longer than the silence that is allowed.
TEST_F(CrowdedAttemptTest, BytesOfAChunkAreNoSilence) {
  deadline_ = seconds(400);
  Begin(Protection::kNone, 4, 2, kMany);
  Begun(0);
  Begun(1);
  attempt_->Advance(now_ + seconds(29));
  attempt_->Hear(0);
  EXPECT_EQ(MaySend(2, 0), Channel::kLater);
  attempt_->Advance(now_ + seconds(30));
  EXPECT_EQ(asked(0).state, Asked::State::kWaiting);
  EXPECT_THAT(asked(1).why, HasSubstr("has stopped"));
}

// The largest weight is that of a client that sends nothing: what is left of each number, as
// integers, would be too little.
TEST_F(AttemptTest, UpdatesOfTooLittleWeightHaveNoMean) {
  for (const bool enough : {false, true}) {
    factor_ = enough ? 0x1p-20 : 0x1p-21;
    Begin(Protection::kNone, 3, 2);
    SendUpdates(0, 2);
    attempt_->Lose(2, "it is gone");
    attempt_->Advance(now_);
    ASSERT_TRUE(attempt_->over());
    if (enough) {
      EXPECT_EQ(attempt_->failure(), absl::OkStatus());
    } else {
      EXPECT_THAT(std::string(attempt_->failure().message()),
                  HasSubstr("have 9.53674e-07 of the weight of the largest one"));
    }
  }
}

// Nobody may be kept waiting by an attempt that is over.
TEST_F(CrowdedAttemptTest, AtTheDeadlineAllMaySendWhatIsDropped) {
  SendUpdate(0);
  SendUpdate(1);
  Begun(2);
  attempt_->Advance(now_ + seconds(40));
  ExpectMeanOf({0, 1});
  EXPECT_NE(MaySend(3, 0), Channel::kLater);
}

// All updates of these are needed at the end.
TEST_F(AttemptTest, NobodyWaitsWhereUpdatesAreHeld) {
  receive_bytes_ = 1;
  Begin(Protection::kMasked, 4, 2);
  for (int i = 0; i < 4; ++i) {
    EXPECT_NE(attempt_->Allowed(i, {.kind = FrameKind::kUpdate, .attempt = kNumber}),
              Channel::kLater);
  }
}

// Metrics are averaged over the clients that have them.
TEST_F(AttemptTest, AReportWithAMetricTwiceIsLeftOut) {
  Begin(Protection::kNone, 3, 2);
  SendUpdate(0, {.samples = 1, .metrics = {{"loss", 1}, {"loss", 2}}});
  SendUpdates(1, 3);
  ExpectMeanOf({1, 2});
  EXPECT_EQ(asked(0).why, "report: loss comes twice");
}

// Each of them is a number that the aggregator does not read.
TEST_F(AttemptTest, OfHiddenMetricsThereIsTheMean) {
  for (const Protection protection : {Protection::kMasked, Protection::kThreshold}) {
    Begin(protection, 3, 2);
    for (int i = 0; i < 3; ++i) {
      SendUpdate(i, {.samples = 1, .metrics = {{"loss", double(i)}, {"acc", 0.5}}});
    }
    Deliver();
    ExpectMeanOf({0, 1, 2});
    ASSERT_EQ(attempt_->metrics().size(), 2u);
    EXPECT_EQ(attempt_->metrics()[0].first, "loss");
    EXPECT_NEAR(attempt_->metrics()[0].second, 1, 1e-4);
    EXPECT_NEAR(attempt_->metrics()[1].second, 0.5, 1e-4);
    for (const Asked& asked : attempt_->asked()) EXPECT_THAT(asked.report.metrics, IsEmpty());
  }
}

TEST_F(AttemptTest, HiddenMetricsOfDifferentNamesHaveNoMean) {
  Begin(Protection::kMasked, 3, 2);
  for (int i = 0; i < 3; ++i) {
    SendUpdate(i, {.samples = 1, .metrics = {{i == 1 ? "acc" : "loss", 1}}});
  }
  Deliver();
  ExpectMeanOf({0, 1, 2});
  EXPECT_THAT(attempt_->metrics(), IsEmpty());
}

// The sum holds its update, and does without its reply.
TEST_F(AttemptTest, AReplyThatIsNoneCostsNothingWhereOthersSuffice) {
  Begin(Protection::kMasked, 4, 2);
  change_ = [](int from, Bytes& reply) {
    if (from == 2) reply.resize(5);
  };
  SendUpdates(0, 4);
  ExpectMeanOf({0, 1, 2, 3});
  EXPECT_TRUE(asked(2).at_fault);
  EXPECT_THAT(asked(2).why, HasSubstr("ends too early"));
}

TEST_F(AttemptTest, WhoGivesWrongSharesIsNamedAndTheSumIsMade) {
  Begin(Protection::kMasked, 4, 2);
  Twist(1, {0, 2, 3});
  SendUpdates(0, 4);
  ExpectMeanOf({0, 1, 2, 3});
  EXPECT_TRUE(asked(1).at_fault);
  EXPECT_THAT(asked(1).why, HasSubstr("wrong"));
  for (const int honest : {0, 2, 3}) EXPECT_FALSE(asked(honest).at_fault) << honest;
}

// Nobody else has to do with it.
TEST_F(AttemptTest, AWrongShareOfTheOwnSecretIsTheOwnFault) {
  Begin(Protection::kMasked, 4, 2);
  Twist(3, {3});
  SendUpdates(0, 4);
  ExpectMeanOf({0, 1, 2, 3});
  EXPECT_TRUE(asked(3).at_fault);
}

// It may be the fault of the one who gave the share, or of the one who was given it.
TEST_F(AttemptTest, OfOneWrongShareBothAreNamedAndNeitherIsBlamed) {
  Begin(Protection::kMasked, 4, 2);
  Twist(0, {2});
  SendUpdates(0, 4);
  ExpectMeanOf({0, 1, 2, 3});
  for (const int one : {0, 2}) {
    EXPECT_TRUE(asked(one).disputed);
    EXPECT_FALSE(asked(one).at_fault);
  }
  EXPECT_THAT(asked(0).why, HasSubstr("it or client client-2 lies"));
  EXPECT_THAT(asked(2).why, HasSubstr("it or client client-0 lies"));
  EXPECT_THAT(asked(1).why, IsEmpty());
}

// All three are needed: there is nothing to compare with.
TEST_F(AttemptTest, WithNoSharesToSpareAWrongOneFailsTheAttempt) {
  Begin(Protection::kMasked, 3, 2);
  Twist(1, {0});
  SendUpdates(0, 3);
  ASSERT_TRUE(attempt_->over());
  EXPECT_THAT(std::string(attempt_->failure().message()),
              HasSubstr("wrong shares of client 0: among 3 shares no 3 were found that are right; "
                        "it is not known which are wrong"));
  EXPECT_EQ(attempt_->opened(), 3);
  EXPECT_TRUE(attempt_->average().empty());
}

// Each part looks random: which one is wrong cannot be seen.
TEST_F(AttemptTest, WithThresholdKeysAWrongPartFailsTheAttempt) {
  liar_ = 1;
  Begin(Protection::kThreshold, 3, 2);
  SendUpdates(0, 3);
  ASSERT_TRUE(attempt_->over());
  EXPECT_THAT(std::string(attempt_->failure().message()),
              HasSubstr("a part of the decryption, is a wrong one"));
  EXPECT_EQ(attempt_->opened(), 3) << "the aggregator may read more than it says";
  for (const Asked& asked : attempt_->asked()) {
    EXPECT_TRUE(asked.disputed);
    EXPECT_FALSE(asked.at_fault);
  }
}

// Whenever it is lost: nobody else can decrypt for it.
TEST_F(AttemptTest, WithThresholdKeysALossFailsTheAttemptAndIsNamed) {
  for (const bool after_its_update : {false, true}) {
    Begin(Protection::kThreshold, 3, 2);
    SendUpdates(0, 1);
    if (after_its_update) SendUpdates(2, 3);
    attempt_->Lose(2, "it is gone");
    attempt_->Advance(now_);
    ASSERT_TRUE(attempt_->over());
    EXPECT_THAT(std::string(attempt_->failure().message()),
                HasSubstr("client client-2 is missing (it is gone), and threshold keys need all"));
    EXPECT_EQ(attempt_->opened(), 0) << "nobody was asked to decrypt";
    EXPECT_EQ(asked(2).state, Asked::State::kLeftOut);
    EXPECT_FALSE(asked(2).at_fault);
  }
}

// Before its update is there, when it is accepted, and when the sum is there.
TEST_F(AttemptTest, NoSumHasTheUpdateOfAClientThatIsRevoked) {
  Begin(Protection::kNone, 4, 2);
  attempt_->Revoke(3, "it may not take part");
  attempt_->Advance(now_);
  EXPECT_EQ(attempt_->asked()[3].state, Asked::State::kLeftOut);
  EXPECT_EQ(attempt_->asked()[3].why, "it may not take part");
  for (int client = 0; client < 3; ++client) SendUpdate(client);
  Deliver();
  ASSERT_TRUE(attempt_->over());
  EXPECT_EQ(attempt_->failure(), absl::OkStatus());
  EXPECT_THAT(attempt_->average(), Each(FloatNear((1 + 2 + 4) / 3.0f, 1e-6f)));
  attempt_->Revoke(3, "again");
  EXPECT_EQ(attempt_->failure(), absl::OkStatus()) << "the sum is without it";
  const std::string wrong = "the update of client client-1 must not be used: why";
  attempt_->Revoke(1, "why");
  EXPECT_EQ(std::string(attempt_->failure().message()), wrong);
  EXPECT_THAT(attempt_->average(), IsEmpty());
  EXPECT_EQ(asked(1).state, Asked::State::kLeftOut);
  EXPECT_EQ(asked(1).why, "why");
  Begin(Protection::kNone, 4, 2);
  SendUpdate(1);
  attempt_->Revoke(1, "why");
  attempt_->Advance(now_);
  EXPECT_TRUE(attempt_->over());
  EXPECT_EQ(std::string(attempt_->failure().message()), wrong);
}

// Also of one that is hidden: no log may say that its update is used.
TEST_F(AttemptTest, NoSumThatIsThereHasTheUpdateOfAClientThatIsRevoked) {
  for (const Protection protection :
       {Protection::kNone, Protection::kMasked, Protection::kThreshold}) {
    Begin(protection, 4, 2);
    SendUpdates(0, 4);
    ASSERT_EQ(attempt_->failure(), absl::OkStatus());
    attempt_->Revoke(2, "why");
    EXPECT_EQ(std::string(attempt_->failure().message()),
              "the update of client client-2 must not be used: why");
    EXPECT_THAT(attempt_->average(), IsEmpty());
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(asked(i).state, i == 2 ? Asked::State::kLeftOut : Asked::State::kAccepted) << i;
    }
    EXPECT_EQ(asked(2).why, "why");
  }
}

// 20 clients with 16 neighbours each, of which 14 have to vote.
class NeighboursAttemptTest : public AttemptTest {
 protected:
  NeighboursAttemptTest() {
    mask_neighbours_ = 1;
    skip_ = [this](const Note& note) {
      if (note.index < 2 || !silent_[note.index - 2].contains(note.position)) return false;
      skipped_.push_back(note);
      return true;
    };
    Begin(Protection::kMasked, 20, 2);
  }
  // Goes on without those who are silent.
  void Miss() {
    now_ += seconds(11);
    attempt_->Advance(now_);
    Deliver();
  }

  std::set<int> silent_[2];  // when they are to vote, and when they are to reveal
  std::vector<Note> skipped_;
};

TEST_F(NeighboursAttemptTest, TheSumOfAllWhoSentAnUpdate) {
  silent_[0] = {6, 7};
  silent_[1] = {9};
  SendUpdates(0, 20);
  EXPECT_FALSE(attempt_->over());
  Miss();
  EXPECT_FALSE(attempt_->over());
  // A vote that comes too late is not a fault, and nobody waits for it again.
  ASSERT_EQ(skipped_.size(), 3u);
  ASSERT_EQ(skipped_[0].position, 6);
  Reply(6, *Must(clients_[6]->TakeNote(2, *skipped_[0].body)));
  EXPECT_FALSE(asked(6).at_fault) << asked(6).why;
  Reply(9, *Must(clients_[9]->TakeNote(3, *skipped_[2].body)));
  std::vector<int> all(20);
  std::iota(all.begin(), all.end(), 0);
  ExpectMeanOf(all);
  EXPECT_EQ(attempt_->opened(), 20);
}

TEST_F(NeighboursAttemptTest, TooFewVotesFailTheAttemptAndNameTheSilent) {
  silent_[0] = {0, 1, 2, 3, 4, 5, 6};
  SendUpdates(0, 20);
  Miss();
  EXPECT_EQ(attempt_->failure().message(), "masks need 14 of 20 clients, but only 13 are left");
  EXPECT_EQ(asked(6).why, "it did not answer in time");
  EXPECT_THAT(asked(7).why, IsEmpty());
}

TEST_F(NeighboursAttemptTest, AVoteInAnothersNameIsAFault) {
  change_ = [](int from, Bytes& reply) {
    if (from == 4 && reply.size() == 36) reply[0] = 5;
  };
  SendUpdates(0, 20);
  EXPECT_TRUE(asked(4).at_fault);
  EXPECT_EQ(asked(4).why, "client 4 speaks for client 5");
}

// Its update is accepted, and others are waited for.
TEST_F(AttemptTest, AMaskedAttemptFailsWhenAClientIsRevokedAfterItsUpdate) {
  Begin(Protection::kMasked, 4, 2);
  SendUpdates(0, 2);
  attempt_->Revoke(1, "why");
  EXPECT_TRUE(attempt_->over());
  EXPECT_EQ(std::string(attempt_->failure().message()),
            "the update of client client-1 must not be used: why");
  EXPECT_EQ(asked(1).state, Asked::State::kLeftOut);
  EXPECT_EQ(asked(0).state, Asked::State::kAccepted);
}

}  // namespace
}  // namespace dtnn::federation
