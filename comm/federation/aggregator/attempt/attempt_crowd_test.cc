// Attempts with more clients that send than there are places for updates.

#include <optional>
#include <string>

#include "comm/federation/channel.h"
#include "comm/federation/testing/attempt_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn::federation {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

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

// Nobody may be kept waiting by an attempt that is over.
TEST_F(CrowdedAttemptTest, AtTheDeadlineAllMaySendWhatIsDropped) {
  SendUpdate(0);
  SendUpdate(1);
  Begun(2);
  attempt_->Advance(now_ + seconds(40));
  ExpectMeanOf({0, 1});
  EXPECT_NE(MaySend(3, 0), Channel::kLater);
}

// Masks change no size.
TEST_F(CrowdedAttemptTest, ClientsOfMaskedSumsWaitToo) {
  Begin(Protection::kMasked, 4, 2, kMany);
  ASSERT_NE(MaySend(0, 0), Channel::kLater);
  ASSERT_NE(MaySend(1, 0), Channel::kLater);
  EXPECT_EQ(MaySend(2, 0), Channel::kLater);
  SendUpdate(0);
  EXPECT_EQ(asked(0).state, Asked::State::kAccepted);
  SendUpdate(2);
  SendUpdate(1);
  SendUpdate(3);
  Deliver();
  ExpectMeanOf({0, 1, 2, 3});
}

// They are larger than the numbers in them.
TEST_F(CrowdedAttemptTest, PlacesOfCiphertextsAreThoseOfTheirBytes) {
  receive_bytes_ = 3 * kMany * sizeof(float);
  key_ = Must(RandomSecret());
  for (const Protection protection : {Protection::kNone, Protection::kSharedKey}) {
    Begin(protection, 4, 2, kMany);
    EXPECT_NE(MaySend(0, 0), Channel::kLater);
    EXPECT_NE(MaySend(1, 0), Channel::kLater);
    EXPECT_EQ(MaySend(2, 0) == Channel::kLater, protection == Protection::kSharedKey);
    EXPECT_EQ(MaySend(3, 0), Channel::kLater);
  }
}

// Robust means need all updates at the end.
TEST_F(CrowdedAttemptTest, NobodyWaitsWhereUpdatesAreHeld) {
  robust_ = {.kind = RobustKind::kMedian};
  Begin(Protection::kNone, 4, 2, kMany);
  for (int i = 0; i < 4; ++i) EXPECT_NE(MaySend(i, 0), Channel::kLater);
}

}  // namespace
}  // namespace dtnn::federation
