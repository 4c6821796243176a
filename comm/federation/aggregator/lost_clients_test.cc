#include "comm/federation/aggregator/lost_clients.h"

#include <algorithm>
#include <string>
#include <vector>

#include "comm/federation/aggregator/choice/choice.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

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

// Every attempt that asks it fails, and nobody can say why.
TEST(LostClientsTest, ARoundDoesWithoutOneThatSpoilsEveryAttempt) {
  const std::vector<std::string> names = {"a", "b", "c", "d", "e"};
  for (const size_t fewest : {2, 3, 4}) {
    for (const std::string& liar : names) {
      LostClients lost;
      uint64_t attempts = 0;
      for (bool failed = true; failed && attempts < kMostAttempts; ++attempts) {
        std::vector<Candidate> there;
        for (size_t i = 0; i < names.size(); ++i) {
          there.push_back({.id = int(i), .name = names[i], .losses = lost.LossesOf(names[i])});
        }
        std::vector<Asked> asked;
        for (const int id :
             Must(ChooseClients(there, {.min_clients = fewest, .attempt = attempts})).ids) {
          asked.push_back({.name = names[size_t(id)], .state = State::kAccepted, .disputed = true});
        }
        failed = std::ranges::count(asked, liar, &Asked::name) > 0;
        lost.Count(asked, failed, int(fewest));
      }
      EXPECT_LT(attempts, 10u) << liar << " of five, where " << fewest << " are enough";
    }
  }
}

}  // namespace
}  // namespace dtnn::federation
