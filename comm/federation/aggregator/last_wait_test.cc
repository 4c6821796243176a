#include "comm/federation/aggregator/last_wait.h"

#include "gtest/gtest.h"

namespace dtnn::federation {
namespace {

using std::chrono::seconds;

class LastWaitTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kBefore = 4000;  // bytes
  const LastWait::Clock::time_point begin_ = LastWait::Clock::now();
  LastWait wait_{begin_, seconds(10), seconds(10), seconds(60), kBefore};
};

TEST_F(LastWaitTest, LastsAsLongAsBytesGo) {
  EXPECT_EQ(wait_.end(), begin_ + seconds(10));
  wait_.Sent(5000, begin_ + seconds(9));
  EXPECT_EQ(wait_.end(), begin_ + seconds(19));
  wait_.Sent(5001, begin_ + seconds(18));
  EXPECT_EQ(wait_.end(), begin_ + seconds(28));
}

TEST_F(LastWaitTest, EndsWhereNothingGoes) {
  for (int second = 1; second < 10; ++second) wait_.Sent(kBefore, begin_ + seconds(second));
  EXPECT_EQ(wait_.end(), begin_ + seconds(10));
}

// Also where a client takes a byte now and then.
TEST_F(LastWaitTest, HasAnEnd) {
  for (int second = 1; second < 60; ++second)
    wait_.Sent(kBefore + uint64_t(second), begin_ + seconds(second));
  EXPECT_EQ(wait_.end(), begin_ + seconds(60));
}

// A client that still trains may be silent for longer than a pause.
TEST_F(LastWaitTest, BytesNeverShortenIt) {
  LastWait wait(begin_, seconds(50), seconds(10), seconds(60), kBefore);
  wait.Sent(5000, begin_);
  EXPECT_EQ(wait.end(), begin_ + seconds(50));
}

}  // namespace
}  // namespace dtnn::federation
