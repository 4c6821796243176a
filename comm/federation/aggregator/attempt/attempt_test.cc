#include "comm/federation/aggregator/attempt/attempt.h"

#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "comm/federation/testing/attempt_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn::federation {
namespace {

using std::chrono::seconds;
using ::testing::Each;
using ::testing::Field;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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

// Nobody has asked for a reply; its update is in the sum already.
TEST_F(AttemptTest, WhoBreaksTheRulesAfterItsUpdateIsNamedAndItsUpdateCounts) {
  for (const Protection protection : {Protection::kNone, Protection::kMasked}) {
    Begin(protection, 4, 2);
    SendUpdates(0, 1);
    Reply(0, Bytes(7));
    EXPECT_TRUE(asked(0).at_fault);
    EXPECT_THAT(asked(0).why, HasSubstr("before it was sent"));
    // It has used up the replies that it may send, and the others' shares suffice.
    skip_ = [](const Note& note) { return note.position == 0; };
    SendUpdates(1, 4);
    skip_ = nullptr;
    ExpectMeanOf({0, 1, 2, 3});
  }
}

// A mean can do without it.
TEST_F(AttemptTest, WhoBreaksTheRulesAfterItsUpdateIsLeftOutOfARobustMean) {
  robust_ = {.kind = RobustKind::kMedian};
  Begin(Protection::kNone, 4, 2);
  SendUpdates(0, 1);
  Reply(0, Bytes(7));
  EXPECT_EQ(asked(0).state, Asked::State::kLeftOut);
  SendUpdates(1, 4);
  ASSERT_EQ(attempt_->failure(), absl::OkStatus());
  EXPECT_THAT(attempt_->average(), Each(4.0f)) << "the median of 2, 4 and 8";
}

TEST_F(AttemptTest, UpdatesThatAreAddedTakeNoMemory) {
  const size_t values = size_t{1} << 20;
  for (const Protection protection : {Protection::kNone, Protection::kMasked}) {
    Begin(protection, 12, 2, values);
    SendUpdate(11);
    const size_t before = AllocatedBytes();
    size_t most = 0;
    for (int i = 0; i < 11; ++i) {
      SendUpdate(i);
      most = std::max(most, AllocatedBytes());
    }
    EXPECT_LT(most, before + values) << "the sum was there";
    Deliver();
    ASSERT_TRUE(attempt_->over());
    EXPECT_LT(AllocatedBytes(), before + 5 * values) << "the mean; the sum is gone";
    ExpectMeanOf({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  }
}

// Whatever the order of floating-point additions would make of them.
TEST_F(AttemptTest, TheBitsOfTheMeanDoNotDependOnTheOrderInWhichUpdatesCome) {
  constexpr size_t kMany = 70001;
  numbers_ = [](int position) {
    std::vector<float> numbers(kMany);
    for (size_t i = 0; i < kMany; ++i) {
      numbers[i] = std::sin(float(i + 1) * float(position + 1)) * (position == 2 ? 20.f : 0.01f);
    }
    return numbers;
  };
  for (const Protection protection : {Protection::kNone, Protection::kMasked}) {
    std::vector<int> order = {0, 1, 2, 3};
    std::vector<float> first;
    do {
      Begin(protection, 4, 2, kMany);
      for (const int position : order) SendUpdate(position);
      Deliver();
      ASSERT_TRUE(attempt_->over());
      ASSERT_EQ(attempt_->failure(), absl::OkStatus());
      if (first.empty()) first = attempt_->average();
      ASSERT_EQ(attempt_->average(), first);
    } while (std::ranges::next_permutation(order).found);
    EXPECT_NE(first[5], first[6]);
  }
}

// Nothing of it is in the sum: its masks could not be removed from the chunks that are good.
TEST_F(AttemptTest, AProtectedUpdateWithABadChunkIsLeftOutWhole) {
  constexpr size_t kMany = 70001;
  for (const Protection protection : {Protection::kMasked, Protection::kSharedKey}) {
    const Secret key = Must(RandomSecret());
    key_ = key;
    Begin(protection, 4, 2, kMany);
    SendUpdate(0);
    damage_ = [](uint32_t chunk, Bytes& message) { message.back() ^= chunk == 1 ? 1 : 0; };
    SendUpdate(1);
    damage_ = nullptr;
    EXPECT_EQ(asked(1).state, Asked::State::kLeftOut);
    EXPECT_TRUE(asked(1).at_fault);
    EXPECT_THAT(asked(1).why, HasSubstr("chunk 1"));
    SendUpdates(2, 4);
    ASSERT_TRUE(attempt_->over());
    ASSERT_EQ(attempt_->failure(), absl::OkStatus());
    if (protection == Protection::kMasked) {
      ExpectMeanOf({0, 2, 3});
    } else {
      std::vector<float> sum(std::min(kMany, protector_->chunk_values()));
      for (const uint32_t chunk : {0, 1}) {
        ASSERT_EQ(updates_.at(0)->Decode({kNumber, chunk}, attempt_->encrypted()[chunk], sum),
                  absl::OkStatus());
        EXPECT_THAT(sum, Each(FloatNear(1 + 4 + 8, 1e-3f)));
      }
    }
  }
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

// No log may say that its update is used.
TEST_F(AttemptTest, NoSumThatIsThereHasTheUpdateOfAClientThatIsRevoked) {
  Begin(Protection::kNone, 4, 2);
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

// The sum of another attempt, of the same updates without its one, would tell it.
TEST_F(AttemptTest, AProtectedSumThatIsThereStaysWhenAClientIsRevoked) {
  for (const Protection protection : {Protection::kMasked, Protection::kThreshold}) {
    Begin(protection, 4, 2);
    SendUpdates(0, 4);
    ASSERT_EQ(attempt_->opened(), 4);
    attempt_->Revoke(2, "why");
    ExpectMeanOf({0, 1, 2, 3});
    EXPECT_EQ(asked(2).why, "why");
  }
}

// What opens the masks of all four is on its way to the aggregator.
TEST_F(AttemptTest, AMaskedSumThatIsBeingReadStaysWhenAClientIsRevoked) {
  Begin(Protection::kMasked, 4, 2);
  for (int i = 0; i < 4; ++i) SendUpdate(i);
  ASSERT_EQ(attempt_->opened(), 4);
  ASSERT_FALSE(attempt_->over());
  attempt_->Revoke(2, "why");
  skip_ = [](const Note& note) { return note.position == 2; };
  Deliver();
  attempt_->Advance(now_);
  ExpectMeanOf({0, 1, 2, 3});
}

// Its part of the decryption is there, or else nobody can read the sum.
TEST_F(AttemptTest, AThresholdSumStaysWhereAClientThatIsRevokedHasGivenItsPart) {
  for (const bool has_answered : {true, false}) {
    Begin(Protection::kThreshold, 3, 2);
    for (int i = 0; i < 3; ++i) SendUpdate(i);
    ASSERT_EQ(attempt_->opened(), 3);
    std::deque<Note> others;
    while (!notes_.empty() && notes_.front().kind == FrameKind::kQuestion) {
      const Note note = std::move(notes_.front());
      notes_.pop_front();
      if (note.position == 1) {
        if (!has_answered) continue;
        Send(1, FrameKind::kAnswer, note.index,
             Must(updates_.at(1)->Answer({kNumber, note.index}, *note.body)));
      } else {
        others.push_back(note);
      }
    }
    notes_ = others;
    attempt_->Revoke(1, "why");
    attempt_->Advance(now_);
    if (has_answered) {
      Deliver();
      ExpectMeanOf({0, 1, 2});
    } else {
      EXPECT_TRUE(attempt_->over());
      EXPECT_EQ(std::string(attempt_->failure().message()),
                "client client-1 is missing (why), and threshold keys need all clients of a round");
    }
    notes_.clear();
  }
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
