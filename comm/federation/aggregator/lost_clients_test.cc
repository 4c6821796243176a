#include "comm/federation/aggregator/lost_clients.h"

#include <vector>

#include "gtest/gtest.h"

namespace dtnn::federation {
namespace {

using State = Asked::State;

const std::vector<Asked> kAsked = {
    {.name = "good", .state = State::kAccepted},
    {.name = "gone", .state = State::kLeftOut},
    {.name = "bad", .state = State::kLeftOut, .at_fault = true},
    {.name = "disputed", .state = State::kAccepted, .disputed = true},
};

TEST(LostClientsTest, WhoIsLostIsCountedAndWhoIsAtFaultExcluded) {
  LostClients lost;
  for (int attempt = 1; attempt <= 2; ++attempt) {
    lost.Count(kAsked, /*failed=*/false, /*min_clients=*/4);
    EXPECT_EQ(lost.LossesOf("good"), 0);
    EXPECT_EQ(lost.LossesOf("gone"), attempt);
    EXPECT_EQ(lost.LossesOf("bad"), 0);
    EXPECT_EQ(lost.LossesOf("disputed"), attempt);
  }
  EXPECT_TRUE(lost.Excludes("bad"));
  EXPECT_FALSE(lost.Excludes("gone") || lost.Excludes("good") || lost.Excludes("nobody"));
  lost.Clear();
  EXPECT_FALSE(lost.Excludes("bad"));
  EXPECT_EQ(lost.LossesOf("gone"), 0);
}

TEST(LostClientsTest, AllAreLostWhereNoneCanBeSpared) {
  LostClients lost;
  lost.Count(kAsked, /*failed=*/true, /*min_clients=*/3);
  EXPECT_EQ(lost.LossesOf("good"), 0) << "more were asked than there must be";
  lost.Count(kAsked, /*failed=*/true, /*min_clients=*/4);
  EXPECT_EQ(lost.LossesOf("good"), 1);
}

}  // namespace
}  // namespace dtnn::federation
