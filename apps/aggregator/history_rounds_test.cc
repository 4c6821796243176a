#include "apps/aggregator/history_rounds.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(HistoryRoundsTest, RoundsAreThoseOfTheFile) {
  const std::vector<FederationFacts::Round> rounds = RoundsOfHistory(
      "epoch,loss,val_acc,clients,samples,attempts,seconds,bytes_sent,bytes_received,epsilon,"
      "epsilon_aggregator,clip,below_clip\n"
      "1,0.5,90,3,600,2,1.5,7,9,1.25,2.5,4,0.75\n"
      "2,0.25,,2,400,1,0.5,70,90,1.5,3,2,0.5\n");
  ASSERT_EQ(rounds.size(), 2u);
  EXPECT_EQ(rounds[0].round, 1);
  EXPECT_EQ(rounds[0].accepted, 3);
  EXPECT_EQ(rounds[0].asked, 3);
  EXPECT_EQ(rounds[0].attempts, 2u);
  EXPECT_EQ(rounds[0].seconds, 1.5);
  EXPECT_EQ(rounds[0].bytes_sent, 7u);
  EXPECT_EQ(rounds[0].bytes_received, 9u);
  EXPECT_EQ(rounds[0].metrics, (federation::Metrics{{"loss", 0.5}, {"val_acc", 90}}));
  EXPECT_EQ(rounds[0].epsilons->model, 1.25);
  EXPECT_EQ(rounds[0].epsilons->aggregator, 2.5);
  EXPECT_EQ(rounds[0].clipping->clip, 4);
  EXPECT_EQ(rounds[0].clipping->below, 0.75);
  EXPECT_EQ(rounds[1].round, 2);
  EXPECT_EQ(rounds[1].metrics, (federation::Metrics{{"loss", 0.25}})) << "it was not tested";
}

TEST(HistoryRoundsTest, FactsOfAsynchronousRoundsAreNotMetrics) {
  const std::vector<FederationFacts::Round> rounds =
      RoundsOfHistory("epoch,loss,clients,samples,staleness,too_stale\n1,0.5,3,600,1.5,2\n");
  ASSERT_EQ(rounds.size(), 1u);
  EXPECT_EQ(rounds[0].metrics, (federation::Metrics{{"loss", 0.5}}));
}

TEST(HistoryRoundsTest, WhatIsNoRoundIsSkipped) {
  EXPECT_TRUE(RoundsOfHistory("").empty());
  EXPECT_TRUE(RoundsOfHistory("epoch,loss\n").empty());
  const std::vector<FederationFacts::Round> rounds =
      RoundsOfHistory("epoch,loss,clients\nfirst,1,2\n-1,1,2\n3,nan,many,5\n4\n5,inf,1e300\n");
  ASSERT_EQ(rounds.size(), 3u);
  for (const FederationFacts::Round& round : rounds) {
    EXPECT_TRUE(round.metrics.empty()) << round.round;
    EXPECT_EQ(round.accepted, 0) << round.round;
    EXPECT_FALSE(round.epsilons) << round.round;
  }
}

}  // namespace
}  // namespace dtnn
