// Attempts whose last step is done elsewhere: what comes meanwhile.

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
    run_ = [this](std::function<void()> work) { work_ = std::move(work); };
  }
  void Work() {
    ASSERT_TRUE(work_);
    std::exchange(work_, nullptr)();
    attempt_->Advance(now_);
  }

  std::function<void()> work_;
};

TEST_F(AttemptBesideTest, NobodyIsMissedWhoIsLostMeanwhile) {
  for (const Protection protection :
       {Protection::kNone, Protection::kMasked, Protection::kThreshold}) {
    Begin(protection, 4, 2);
    SendUpdates(0, 4);
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
  SendUpdates(0, 3);
  std::optional<Note> late;
  skip_ = [&](const Note& note) {
    if (note.position == 3) late = note;
    return note.position == 3;
  };
  SendUpdates(3, 4);
  ASSERT_TRUE(late);
  EXPECT_FALSE(work_) << "its reply is awaited";
  attempt_->Advance(now_ + deadline_);
  ASSERT_TRUE(work_);
  Reply(3, *Must(clients_[3]->TakeNote(int(late->index), *late->body)));
  EXPECT_FALSE(asked(3).at_fault) << asked(3).why;
  Work();
  ExpectMeanOf({0, 1, 2, 3});
}

// One that has not answered is missing where the answers do not suffice, though it does then.
TEST_F(AttemptBesideTest, AReplyThatComesMeanwhileMakesNobodyReliable) {
  Begin(Protection::kMasked, 4, 4);
  SendUpdates(0, 3);
  std::vector<Note> late;
  skip_ = [&](const Note& note) {
    if (note.position > 0) late.push_back(note);
    return note.position > 0;
  };
  SendUpdates(3, 4);
  attempt_->Advance(now_ + deadline_);
  ASSERT_TRUE(work_);
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
  SendUpdates(0, 4);
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
  SendUpdates(0, 4);
  attempt_->Revoke(2, "it is no longer on the list");
  Work();
  ExpectMeanOf({0, 1, 2, 3});
}

TEST_F(AttemptBesideTest, WrongSharesAreNamedAfterIt) {
  Begin(Protection::kMasked, 4, 2);
  Twist({1}, {1});
  SendUpdates(0, 4);
  EXPECT_FALSE(asked(1).at_fault);
  Work();
  ASSERT_TRUE(attempt_->over());
  EXPECT_TRUE(asked(1).at_fault);
  EXPECT_THAT(asked(1).why, HasSubstr("wrong share"));
}

}  // namespace
}  // namespace dtnn::federation
