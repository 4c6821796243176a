// Attempts whose clients share masks with neighbours only.

#include <chrono>
#include <numeric>
#include <set>
#include <vector>

#include "comm/federation/testing/attempt_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn::federation {
namespace {

using std::chrono::seconds;
using ::testing::IsEmpty;

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

}  // namespace
}  // namespace dtnn::federation
