#include "comm/federation/aggregator/choice/choice.h"

#include <algorithm>
#include <map>
#include <set>

#include "comm/federation/agreed.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn::federation {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Secret SeedOf(uint8_t number) {
  Secret seed;
  seed.bytes()[31] = number;
  return seed;
}

std::vector<Candidate> There(int clients) {
  std::vector<Candidate> there;
  for (int i = clients; i-- > 0;)
    there.push_back({.id = 100 + i, .name = std::string(1, char('a' + i))});
  return there;
}

TEST(ChoiceTest, AllInTheOrderOfNames) {
  const Choice choice = Must(ChooseClients(There(4), {.min_clients = 2}));
  EXPECT_THAT(choice.ids, ElementsAre(100, 101, 102, 103));
  EXPECT_EQ(choice.sampling, 1);
}

TEST(ChoiceTest, NobodyWhereTooFewAreThere) {
  EXPECT_THAT(Must(ChooseClients(There(2), {.min_clients = 3})).ids, IsEmpty());
}

TEST(ChoiceTest, AFractionButNeverTooFew) {
  EXPECT_THAT(Must(ChooseClients(There(10), {.min_clients = 2, .fraction = 0.3})).ids, SizeIs(3));
  EXPECT_THAT(Must(ChooseClients(There(10), {.min_clients = 2, .fraction = 0.31})).ids, SizeIs(4));
  const Choice least = Must(ChooseClients(There(10), {.min_clients = 5, .fraction = 0.1}));
  EXPECT_THAT(least.ids, SizeIs(5));
  EXPECT_EQ(least.sampling, 0.5);
}

TEST(ChoiceTest, NoMoreThanASumMayHold) {
  std::vector<Candidate> there;
  for (int i = 0; i < 100; ++i) there.push_back({.id = i, .name = std::to_string(1000 + i)});
  const Choice choice = Must(ChooseClients(there, {.min_clients = 1, .most = 64}));
  EXPECT_THAT(choice.ids, SizeIs(64));
  EXPECT_EQ(choice.sampling, 0.64);
}

// In whatever order clients came; each is asked about as often as the others.
TEST(ChoiceTest, IsAFunctionOfWhoIsThereAndDiffersByAttempt) {
  std::map<int, int> counts;
  std::set<std::vector<int>> different;
  for (uint64_t attempt = 0; attempt < 600; ++attempt) {
    const ChoiceOptions options = {
        .min_clients = 2, .fraction = 0.5, .seed = SeedOf(3), .attempt = attempt};
    std::vector<Candidate> there = There(6);
    const Choice choice = Must(ChooseClients(there, options));
    std::ranges::reverse(there);
    EXPECT_EQ(Must(ChooseClients(there, options)).ids, choice.ids);
    different.insert(choice.ids);
    for (const int id : choice.ids) ++counts[id];
  }
  EXPECT_THAT(different, SizeIs(20)) << "of 3 out of 6";
  for (const auto& [id, count] : counts) EXPECT_NEAR(count, 300, 60) << id;
}

// 20 choices of 3 out of 6 in 40 attempts: by chance two seeds agree in two of them.
TEST(ChoiceTest, FollowsFromEveryByteOfTheSeed) {
  int alike = 0;
  for (uint64_t attempt = 0; attempt < 40; ++attempt) {
    ChoiceOptions options = {.min_clients = 2, .fraction = 0.5, .attempt = attempt};
    const Choice choice = Must(ChooseClients(There(6), options));
    options.seed = SeedOf(1);
    alike += Must(ChooseClients(There(6), options)).ids == choice.ids ? 1 : 0;
  }
  EXPECT_LT(alike, 12);
}

TEST(ChoiceTest, WhoWasLostAgainAndAgainIsAskedLast) {
  std::vector<Candidate> there = There(4);
  there[3].losses = 3;  // a
  there[2].losses = 2;  // b
  const Choice without = Must(ChooseClients(there, {.min_clients = 2}));
  EXPECT_THAT(without.ids, ElementsAre(101, 102, 103));
  EXPECT_FALSE(without.reluctant);
  const Choice with = Must(ChooseClients(there, {.min_clients = 4}));
  EXPECT_THAT(with.ids, ElementsAre(100, 101, 102, 103));
  EXPECT_TRUE(with.reluctant);
  there[2].losses = 4;
  EXPECT_THAT(Must(ChooseClients(there, {.min_clients = 3})).ids, ElementsAre(100, 102, 103));
}

}  // namespace
}  // namespace dtnn::federation
