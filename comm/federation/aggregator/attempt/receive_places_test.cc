#include "comm/federation/aggregator/attempt/receive_places.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn::federation {
namespace {

using std::chrono::seconds;
using ::testing::Optional;

constexpr seconds kDeadline(400);

class ReceivePlacesTest : public ::testing::Test {
 protected:
  std::optional<std::string> WhyLost(int client, int second) const {
    return places_.WhyLost(holders_[client], begin_ + seconds(second), kDeadline, 1, 2);
  }
  bool Take(int client, int second) {
    return places_.Take(holders_[client], begin_ + seconds(second));
  }

  const ReceivePlaces::Clock::time_point begin_ = ReceivePlaces::Clock::now();
  ReceivePlaces places_{2};
  ReceivePlaces::Holder holders_[5];
};

TEST_F(ReceivePlacesTest, TheFirstToWaitIsTheFirstToSend) {
  EXPECT_TRUE(Take(4, 0));
  EXPECT_TRUE(Take(3, 0));
  EXPECT_FALSE(Take(2, 0));
  EXPECT_FALSE(Take(0, 0));
  EXPECT_FALSE(Take(1, 0));
  places_.Release(holders_[4]);
  EXPECT_FALSE(Take(0, 1)) << "another one has waited for longer";
  EXPECT_FALSE(Take(4, 1)) << "for a second update";
  EXPECT_TRUE(Take(2, 1));
  places_.Release(holders_[0]);  // it is gone
  places_.Release(holders_[3]);
  EXPECT_TRUE(Take(1, 2));
  EXPECT_TRUE(places_.SomeWait());
  places_.Release(holders_[1]);
  EXPECT_TRUE(Take(4, 3));
  EXPECT_FALSE(places_.SomeWait());
}

// Each crowd gives those that send a quarter of the deadline.
TEST_F(ReceivePlacesTest, ASecondCrowdBeginsAnew) {
  EXPECT_TRUE(Take(0, 0));
  EXPECT_TRUE(Take(1, 0));
  EXPECT_FALSE(Take(2, 0));
  places_.Release(holders_[0]);
  EXPECT_TRUE(Take(2, 1));
  holders_[1].heard = holders_[2].heard = begin_ + seconds(290);
  EXPECT_EQ(WhyLost(1, 300), std::nullopt) << "nobody waits";
  EXPECT_FALSE(Take(3, 300));
  EXPECT_EQ(WhyLost(1, 300), std::nullopt) << "the other one has begun to wait now";
  holders_[1].heard = begin_ + seconds(399);
  EXPECT_EQ(WhyLost(1, 399), std::nullopt);
  EXPECT_THAT(WhyLost(1, 400),
              Optional(std::string("its update is slow: 1 of 2 chunks, and other clients wait")));
}

TEST_F(ReceivePlacesTest, TimeInWhichNobodyWasServedDoesNotCount) {
  EXPECT_TRUE(Take(0, 0));
  EXPECT_TRUE(Take(1, 0));
  EXPECT_FALSE(Take(2, 0));
  places_.Excuse(seconds(50));
  holders_[0].from += seconds(50);
  holders_[0].heard = begin_ + seconds(149);
  EXPECT_EQ(WhyLost(0, 149), std::nullopt);
  EXPECT_NE(WhyLost(0, 150), std::nullopt);
}

}  // namespace
}  // namespace dtnn::federation
