// Attempts whose updates are added elsewhere, where their last step is done too: what comes
// meanwhile.

#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "comm/federation/testing/attempt_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn::federation {
namespace {

using ::testing::HasSubstr;
using Step = FederationObserver::Step;

class AttemptBesideTest : public AttemptTest {
 protected:
  AttemptBesideTest() {
    run_ = [this](std::function<void()> work) { work_.push_back(std::move(work)); };
  }
  void Work() {
    ASSERT_FALSE(work_.empty());
    for (; !work_.empty(); work_.pop_front()) work_.front()();
    attempt_->Advance(now_);
  }
  // Up to the last step, which Work does.
  void SendAndAdd(int from, int to) {
    SendUpdates(from, to);
    Work();
    Deliver();
  }

  std::deque<std::function<void()>> work_;
};

TEST_F(AttemptBesideTest, APlaceIsFreeWhenItsUpdateIsAdded) {
  receive_bytes_ = 1;  // two places
  Begin(Protection::kNone, 4, 2);
  const FrameHeader header = {.kind = FrameKind::kUpdate, .attempt = kNumber, .index = 0};
  SendUpdates(0, 2);
  EXPECT_EQ(asked(0).state, Asked::State::kWaiting);
  EXPECT_EQ(attempt_->Allowed(2, header), Channel::kLater);
  attempt_->Advance(now_ + std::chrono::seconds(35));
  EXPECT_EQ(asked(0).why, "") << "that it waits is not its fault";
  Work();
  EXPECT_EQ(asked(0).state, Asked::State::kAccepted);
  EXPECT_NE(attempt_->Allowed(2, header), Channel::kLater);
}

TEST_F(AttemptBesideTest, AClientThatIsLostBeforeItsUpdateIsAddedCounts) {
  for (const Protection protection : {Protection::kNone, Protection::kMasked}) {
    skip_ = nullptr;
    Begin(protection, 4, 2);
    SendUpdates(0, 4);
    attempt_->Lose(1, "it is gone");
    attempt_->Advance(now_);
    EXPECT_FALSE(attempt_->over());
    Work();
    skip_ = [](const Note& note) { return note.position == 1; };
    Deliver();
    Work();
    ExpectMeanOf({0, 1, 2, 3});
  }
}

TEST_F(AttemptBesideTest, AllAreNeededAlsoBeforeTheirUpdatesAreAdded) {
  Begin(Protection::kThreshold, 4, 2);
  SendUpdates(0, 4);
  attempt_->Lose(1, "it is gone");
  attempt_->Advance(now_);
  EXPECT_TRUE(attempt_->over());
  EXPECT_THAT(attempt_->failure().message(), HasSubstr("client client-1 is missing"));
  Work();
  EXPECT_EQ(asked(1).state, Asked::State::kLeftOut);
}

TEST_F(AttemptBesideTest, AtTheDeadlineWhatIsBeingAddedIsAwaited) {
  Begin(Protection::kNone, 4, 2);
  SendUpdates(0, 3);
  now_ += deadline_;
  attempt_->Advance(now_);
  EXPECT_EQ(asked(2).state, Asked::State::kWaiting);
  EXPECT_FALSE(attempt_->over());
  EXPECT_EQ(asked(3).why, "") << "one that is left out is late: its attempt is over";
  EXPECT_GT(attempt_->next(), now_) << "nobody asks again and again";
  Work();
  EXPECT_EQ(asked(3).why, "it had no update at the deadline");
  Work();
  ExpectMeanOf({0, 1, 2});
}

TEST_F(AttemptBesideTest, ABadUpdateIsNamedOnceItWasRead) {
  numbers_ = [](int position) {
    return std::vector<float>(kValues, position == 2 ? 1e13f : NumberOf(position));
  };
  Begin(Protection::kNone, 4, 2);
  SendUpdates(0, 4);
  EXPECT_FALSE(asked(2).at_fault);
  attempt_->Lose(2, "it is gone");
  Work();
  EXPECT_TRUE(asked(2).at_fault);
  EXPECT_THAT(asked(2).why, HasSubstr("numbers beyond"));
  Work();
  ExpectMeanOf({0, 1, 3});
}

// Its words are in the sum already, or are about to be.
TEST_F(AttemptBesideTest, AClientThatIsRevokedBeforeItsUpdateIsAddedEndsTheAttempt) {
  for (const Protection protection : {Protection::kNone, Protection::kMasked}) {
    Begin(protection, 4, 2);
    SendUpdates(0, 4);
    attempt_->Revoke(2, "it is no longer on the list");
    EXPECT_TRUE(attempt_->over());
    EXPECT_THAT(attempt_->failure().message(), HasSubstr("client client-2 must not be used"));
    Work();
    EXPECT_EQ(asked(2).state, Asked::State::kLeftOut);
    EXPECT_TRUE(attempt_->average().empty());
  }
}

TEST_F(AttemptBesideTest, ItsLastStepStops) {
  for (const Protection protection :
       {Protection::kMasked, Protection::kThreshold, Protection::kSharedKey}) {
    key_.reset();
    if (protection == Protection::kSharedKey) key_ = Must(RandomSecret());
    Begin(protection, 4, 2);
    SendAndAdd(0, 4);
    ASSERT_FALSE(work_.empty());
    attempt_->Stop();
    Work();
    EXPECT_TRUE(absl::IsCancelled(attempt_->failure())) << attempt_->failure();
  }
}

TEST_F(AttemptBesideTest, ItsRobustMeanStops) {
  robust_ = {.kind = RobustKind::kMedian};
  Begin(Protection::kNone, 4, 2);
  SendAndAdd(0, 4);
  ASSERT_FALSE(work_.empty());
  attempt_->Stop();
  Work();
  EXPECT_TRUE(absl::IsCancelled(attempt_->failure())) << attempt_->failure();
}

TEST_F(AttemptBesideTest, NobodyIsMissedWhoIsLostMeanwhile) {
  for (const Protection protection :
       {Protection::kNone, Protection::kMasked, Protection::kThreshold}) {
    Begin(protection, 4, 2);
    SendAndAdd(0, 4);
    attempt_->Advance(now_ + std::chrono::hours(1));
    EXPECT_FALSE(attempt_->over());
    EXPECT_EQ(attempt_->step(), protection == Protection::kNone ? Step::kUpdates : Step::kFinish);
    attempt_->Lose(1, "it is gone");
    attempt_->Advance(now_);
    EXPECT_EQ(asked(1).state, Asked::State::kAccepted);
    Work();
    ExpectMeanOf({0, 1, 2, 3});
  }
}

TEST_F(AttemptBesideTest, AReplyThatComesMeanwhileIsLateAndNobodysFault) {
  Begin(Protection::kMasked, 4, 2);
  SendAndAdd(0, 3);
  std::optional<Note> late;
  skip_ = [&](const Note& note) {
    if (note.position == 3) late = note;
    return note.position == 3;
  };
  SendAndAdd(3, 4);
  ASSERT_TRUE(late);
  EXPECT_TRUE(work_.empty()) << "its reply is awaited";
  attempt_->Advance(now_ + deadline_);
  ASSERT_FALSE(work_.empty());
  Reply(3, *Must(clients_[3]->TakeNote(int(late->index), *late->body)));
  EXPECT_FALSE(asked(3).at_fault) << asked(3).why;
  Work();
  ExpectMeanOf({0, 1, 2, 3});
}

// One that has not answered is missing where the answers do not suffice, though it does then.
TEST_F(AttemptBesideTest, AReplyThatComesMeanwhileMakesNobodyReliable) {
  Begin(Protection::kMasked, 4, 4);
  SendAndAdd(0, 3);
  std::vector<Note> late;
  skip_ = [&](const Note& note) {
    if (note.position > 0) late.push_back(note);
    return note.position > 0;
  };
  SendAndAdd(3, 4);
  attempt_->Advance(now_ + deadline_);
  ASSERT_FALSE(work_.empty());
  ASSERT_EQ(late.size(), 3u);
  for (const Note& note : late) {
    Reply(note.position,
          *Must(clients_[size_t(note.position)]->TakeNote(int(note.index), *note.body)));
  }
  Work();
  ASSERT_TRUE(attempt_->over());
  EXPECT_FALSE(attempt_->failure().ok());
  EXPECT_EQ(asked(0).state, Asked::State::kAccepted);
  for (const int position : {1, 2, 3}) EXPECT_EQ(asked(position).why, "it did not answer in time");
}

// Once it is done; nobody waits for it.
TEST_F(AttemptBesideTest, ARevokedClientEndsTheAttempt) {
  Begin(Protection::kNone, 4, 2);
  SendAndAdd(0, 4);
  attempt_->Revoke(2, "it is no longer on the list");
  attempt_->Revoke(2, "it is no longer on the list");
  EXPECT_FALSE(attempt_->over());
  Work();
  EXPECT_TRUE(attempt_->over());
  EXPECT_THAT(attempt_->failure().message(), HasSubstr("client client-2 must not be used"));
  EXPECT_TRUE(attempt_->average().empty());
}

// The other clients have given what reads it: the next sum, without its update, would tell it.
TEST_F(AttemptBesideTest, AProtectedSumStaysThoughAClientIsRevokedMeanwhile) {
  Begin(Protection::kMasked, 4, 2);
  SendAndAdd(0, 4);
  attempt_->Revoke(2, "it is no longer on the list");
  Work();
  ExpectMeanOf({0, 1, 2, 3});
}

TEST_F(AttemptBesideTest, WrongSharesAreNamedAfterIt) {
  Begin(Protection::kMasked, 4, 2);
  Twist({1}, {1});
  SendAndAdd(0, 4);
  EXPECT_FALSE(asked(1).at_fault);
  Work();
  ASSERT_TRUE(attempt_->over());
  EXPECT_TRUE(asked(1).at_fault);
  EXPECT_THAT(asked(1).why, HasSubstr("wrong share"));
}

}  // namespace
}  // namespace dtnn::federation
