#include "models/checkpoint/run_identity.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<Difference> Differences(const RunIdentity& was, const RunIdentity& now) {
  std::vector<Difference> differences;
  for (const IdentityChange& change : Compare(was, now)) differences.push_back(change.difference);
  return differences;
}

TEST(RunIdentityTest, EveryDifferenceIsNamedWithBothValues) {
  const RunIdentity was = {.data = {.dataset = "mnist", .samples = 60000, .contents = 1},
                           .learning_rate = 0.1,
                           .epochs = 5,
                           .members = {{"decay", "0"}, {"momentum", "0.9"}, {"scale", "1e+05"}}};
  EXPECT_THAT(Differences(was, was), IsEmpty());
  RunIdentity now = was;
  now.learning_rate = 0.2;
  now.epochs = 9;
  now.members[2].value = "100000";
  EXPECT_THAT(Differences(was, now), IsEmpty()) << "they may change, and a number is a number";
  now.data.contents = 2;
  now.members[1].value = "0.5";
  EXPECT_THAT(Differences(was, now), ElementsAre(Difference{"checksum of the samples",
                                                            "0000000000000001", "0000000000000002"},
                                                 Difference{"momentum", "0.9", "0.5"}));
  const IdentityChange data = Compare(was, now).at(0);
  EXPECT_EQ(data.may_change, MayChange::kAfterAnEpoch);
  EXPECT_EQ(data.other_metrics, OtherMetrics::kAll);
}

TEST(RunIdentityTest, MembersAreComparedByTheRulesOfTheRunThatResumes) {
  const RunIdentity was = {.members = {{"--loss", "mse"}, {"old", "1"}, {"same", "x"}}};
  const RunIdentity now = {.members = {{.what = "loss",
                                        .value = "mae",
                                        .key = "--loss",
                                        .may_change = MayChange::kNever,
                                        .other_metrics = OtherMetrics::kAll,
                                        .of_scheduler = "early_stopping"},
                                       {"new", "2"},
                                       {"same", "x"}}};
  const std::vector<IdentityChange> changes = Compare(was, now);
  ASSERT_EQ(changes.size(), 1u) << "what only one of them knows is not compared";
  EXPECT_EQ(changes[0].difference, (Difference{"loss", "mse", "mae"}));
  EXPECT_EQ(changes[0].may_change, MayChange::kNever);
  EXPECT_EQ(changes[0].other_metrics, OtherMetrics::kAll);
  EXPECT_EQ(changes[0].of_scheduler, "early_stopping");
  EXPECT_FALSE(KnowsAll(was, now));
  // What only some runs have says nothing about the version.
  EXPECT_TRUE(KnowsAll({}, {.members = {now.members[0],
                                        {ConstantOfOptimizer("decay of vectors"), "1"},
                                        {ConstantOfOptimizer("average decay"), "0.9"}}}));
  const RunIdentity sgd = {.members = {{ConstantOfOptimizer("momentum"), "0"}}};
  EXPECT_TRUE(KnowsAll(sgd, {.members = {{ConstantOfOptimizer("beta1"), "0.9"}}}));
  EXPECT_FALSE(KnowsAll({}, sgd));
  EXPECT_TRUE(KnowsAll(now, {.members = {now.members[0], now.members[2]}}));
}

}  // namespace
}  // namespace dtnn
