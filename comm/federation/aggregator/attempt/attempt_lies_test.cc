// Attempts whose clients give wrong shares, or decrypt something else than the sum.

#include <string>
#include <vector>

#include "comm/federation/testing/attempt_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn::federation {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

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
  Twist({1}, {0, 2, 3});
  SendUpdates(0, 4);
  ExpectMeanOf({0, 1, 2, 3});
  EXPECT_TRUE(asked(1).at_fault);
  EXPECT_THAT(asked(1).why, HasSubstr("wrong"));
  for (const int honest : {0, 2, 3}) EXPECT_FALSE(asked(honest).at_fault) << honest;
}

// Nobody else has to do with it.
TEST_F(AttemptTest, AWrongShareOfTheOwnSecretIsTheOwnFault) {
  Begin(Protection::kMasked, 4, 2);
  Twist({3}, {3});
  SendUpdates(0, 4);
  ExpectMeanOf({0, 1, 2, 3});
  EXPECT_TRUE(asked(3).at_fault);
}

// It may be the fault of the one who gave the share, or of the one who was given it.
TEST_F(AttemptTest, OfOneWrongShareBothAreNamedAndNeitherIsBlamed) {
  Begin(Protection::kMasked, 4, 2);
  Twist({0}, {2});
  SendUpdates(0, 4);
  ExpectMeanOf({0, 1, 2, 3});
  for (const int one : {0, 2}) {
    EXPECT_TRUE(asked(one).disputed);
    EXPECT_FALSE(asked(one).at_fault);
  }
  EXPECT_THAT(asked(0).why, HasSubstr("it or client 2 lies"));
  EXPECT_THAT(asked(2).why, HasSubstr("it or client 0 lies"));
  EXPECT_THAT(asked(1).why, IsEmpty());
}

// All three are needed: there is nothing to compare with.
TEST_F(AttemptTest, WithNoSharesToSpareAWrongOneFailsTheAttempt) {
  Begin(Protection::kMasked, 3, 2);
  Twist({1}, {0});
  SendUpdates(0, 3);
  ASSERT_TRUE(attempt_->over());
  EXPECT_THAT(
      std::string(attempt_->failure().message()),
      HasSubstr("wrong shares of client client-0: among 3 shares no 3 were found that are right; "
                "it is not known which are wrong"));
  EXPECT_EQ(attempt_->opened(), 3);
  EXPECT_TRUE(attempt_->average().empty());
}

// As where client 0 has given two others wrong shares of its own secret. A client that does so
// again and again is asked last.
TEST_F(AttemptTest, WithTooManyWrongSharesAllThatWereAskedAreInDoubt) {
  Begin(Protection::kMasked, 4, 2);
  Twist({1, 2}, {0});
  SendUpdates(0, 4);
  ASSERT_TRUE(attempt_->over());
  EXPECT_THAT(std::string(attempt_->failure().message()),
              HasSubstr("wrong shares of client client-0: among 4 shares no 3 were found"));
  for (const Asked& asked : attempt_->asked()) {
    EXPECT_TRUE(asked.disputed);
    EXPECT_FALSE(asked.at_fault);
  }
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

}  // namespace
}  // namespace dtnn::federation
