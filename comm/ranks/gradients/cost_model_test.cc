#include "comm/ranks/gradients/cost_model.h"

#include "gtest/gtest.h"

namespace dtnn {
namespace {

constexpr auto kRing = AllReduceAlgorithm::kRing;
constexpr auto kHalvingDoubling = AllReduceAlgorithm::kHalvingDoubling;
constexpr auto kHierarchical = AllReduceAlgorithm::kHierarchical;

// Numbers that keep all sums below exact in binary.
Cluster Flat(int64_t ranks) {
  return {.ranks = ranks,
          .network = {.latency = 64, .seconds_per_byte = 2},
          .node = {},
          .seconds_per_byte_added = 1};
}

TEST(AllReduceCostTest, RingByHand) {
  // Six messages of a quarter each, three additions of one.
  EXPECT_EQ(AllReduceCost(kRing, Flat(4)).Seconds(32), 6 * (64 + 8 * 2) + 3 * 8 * 1);
}

TEST(AllReduceCostTest, HalvingDoublingByHand) {
  // Two messages of 16 and two of 8; both sizes are added once.
  EXPECT_EQ(AllReduceCost(kHalvingDoubling, Flat(4)).Seconds(32),
            2 * (64 + 16 * 2) + 2 * (64 + 8 * 2) + 16 + 8);
}

TEST(AllReduceCostTest, RanksBeyondAPowerOfTwoLeaveTheirPartToANeighbour) {
  EXPECT_EQ(AllReduceCost(kHalvingDoubling, Flat(7)).Seconds(32),
            AllReduceCost(kHalvingDoubling, Flat(4)).Seconds(32) + 2 * (64 + 16 * 2) + 16 +
                (64 + 32 * 2));
}

TEST(AllReduceCostTest, HierarchicalByHand) {
  Cluster cluster = Flat(4);
  cluster.ranks_per_node = 2;
  cluster.node = {.latency = 8, .seconds_per_byte = 0.5};
  // In the node two messages of 16 and one addition; between nodes two of 8 on a shared link; in
  // the node one of 16.
  EXPECT_EQ(AllReduceCost(kHierarchical, cluster).Seconds(32),
            2 * (8 + 16 * 0.5) + 16 + 2 * (64 + 8 * 4) + 8 + (8 + 16 * 0.5));
}

TEST(AllReduceCostTest, FlatAlgorithmsInNodes) {
  Cluster cluster = Flat(4);
  cluster.ranks_per_node = 2;
  cluster.node = {.latency = 8, .seconds_per_byte = 0.5};
  // One message leaves a node at a time, and the others wait for it.
  EXPECT_EQ(AllReduceCost(kRing, cluster).Seconds(32), AllReduceCost(kRing, Flat(4)).Seconds(32));
  // First within the node, then with the other on a shared link.
  EXPECT_EQ(AllReduceCost(kHalvingDoubling, cluster).Seconds(32),
            2 * (8 + 16 * 0.5) + 16 + 2 * (64 + 8 * 4) + 8);
  // All in one node: the network is not used.
  cluster.ranks_per_node = 8;
  for (const AllReduceAlgorithm algorithm : kAllReduceAlgorithms) {
    EXPECT_LT(AllReduceCost(algorithm, cluster).Seconds(32), 6 * (8 + 32 * 0.5) + 3 * 32)
        << Name(algorithm);
  }
}

// All messages of a step wait for the slowest, whose latency or bandwidth may be a node's.
TEST(AllReduceCostTest, ARingWaitsForMessagesWithinANodeToo) {
  Cluster cluster = Flat(4);
  cluster.ranks_per_node = 2;
  cluster.node = {.latency = 128, .seconds_per_byte = 0.5};
  EXPECT_EQ(AllReduceCost(kRing, cluster).Seconds(32), 6 * (128 + 8 * 2) + 3 * 8);
  cluster.node = {.latency = 8, .seconds_per_byte = 4};
  EXPECT_EQ(AllReduceCost(kRing, cluster).Seconds(32), 6 * (64 + 8 * 4) + 3 * 8);
  cluster.ranks_per_node = 1;  // no messages within a node
  EXPECT_EQ(AllReduceCost(kRing, cluster).Seconds(32), AllReduceCost(kRing, Flat(4)).Seconds(32));
}

TEST(AllReduceCostTest, HalvingDoublingInNodesOfThree) {
  Cluster cluster = Flat(6);
  cluster.ranks_per_node = 3;
  cluster.node = {.latency = 8, .seconds_per_byte = 0.5};
  // Ranks 2 and 3, of different nodes, are a pair. Of 0, 2, 4, 5 those of a node halve, then each
  // with one of the other node.
  EXPECT_EQ(AllReduceCost(kHalvingDoubling, cluster).Seconds(32),
            2 * (64 + 16 * 2) + 16 + (64 + 32 * 2) +  // the pair
                2 * (8 + 16 * 0.5) + 16 + 2 * (64 + 8 * 4) + 8);
}

TEST(AllReduceCostTest, PairsWithinANodeOfAnOddNumber) {
  Cluster cluster = Flat(10);
  cluster.ranks_per_node = 5;
  cluster.node = {.latency = 8, .seconds_per_byte = 0.5};
  // The pairs are 0 and 1, 2 and 3. Then 0, 2, 4 of the one node and 5 to 9 of the other: 4 with 5;
  // 2 with 5; 0, 2 and 4 with 6, 7 and 8.
  EXPECT_EQ(AllReduceCost(kHalvingDoubling, cluster).Seconds(32),
            2 * (8 + 16 * 0.5) + 16 + (8 + 32 * 0.5) +  // the pairs
                2 * (64 + 16 * 2) + 16 + 2 * (64 + 8 * 2) + 8 + 2 * (64 + 4 * 6) + 4);
}

TEST(AllReduceCostTest, ATreeSendsWholeMessages) {
  EXPECT_EQ(TreeAllReduceCost(Flat(1)).Seconds(32), 0);
  EXPECT_EQ(TreeAllReduceCost(Flat(2)).Seconds(32), 2 * (64 + 32 * 2) + 32);
  // Three levels.
  EXPECT_EQ(TreeAllReduceCost(Flat(5)).Seconds(32), 3 * (2 * (64 + 32 * 2) + 32));
  EXPECT_EQ(TreeAllReduceCost(Flat(8)).Seconds(32), TreeAllReduceCost(Flat(5)).Seconds(32));
}

// On networks that are slower than memory.
TEST(AllReduceCostTest, StagesAreUsedWhereTheyPay) {
  for (int64_t nodes = 1; nodes <= 17; ++nodes) {
    for (const int64_t per_node : {1, 2, 3, 4, 6, 8, 12, 16, 24, 64, 96}) {
      const Cluster cluster = {.ranks = nodes * per_node,
                               .ranks_per_node = per_node,
                               .network = {10e-6, 8e-10},
                               .node = {1e-6, 1e-11},
                               .seconds_per_byte_added = 1e-11};
      const bool pays = AllReduceCost(kHierarchical, cluster).Seconds(16e6) <
                        AllReduceCost(kHalvingDoubling, cluster).Seconds(16e6);
      EXPECT_EQ(StagesPay({.nodes = nodes, .ranks_per_node = per_node}), pays)
          << nodes << " nodes of " << per_node;
    }
  }
}

TEST(AllReduceCostTest, OneRankCostsNothing) {
  for (const AllReduceAlgorithm algorithm : kAllReduceAlgorithms) {
    Cluster cluster = Flat(1);
    EXPECT_EQ(AllReduceCost(algorithm, cluster).Seconds(1e9), 0) << Name(algorithm);
    cluster.ranks_per_node = 8;
    EXPECT_EQ(AllReduceCost(algorithm, cluster).Seconds(1e9), 0) << Name(algorithm);
  }
}

TEST(AllReduceCostTest, GrowsWithBytesAndWithPowersOfTwoOfRanks) {
  for (const AllReduceAlgorithm algorithm : kAllReduceAlgorithms) {
    for (const int64_t per_node : {1, 4}) {
      double smaller = 0;
      for (int64_t ranks = per_node; ranks <= 4096; ranks *= 2) {
        Cluster cluster = {.ranks = ranks,
                           .ranks_per_node = per_node,
                           .network = {50e-6, 8e-10},
                           .node = {1e-6, 1e-10},
                           .seconds_per_byte_added = 1e-10};
        const double seconds = AllReduceCost(algorithm, cluster).Seconds(1e6);
        EXPECT_GE(seconds, smaller) << Name(algorithm) << " " << ranks;
        if (ranks > 1) {
          EXPECT_LT(seconds, AllReduceCost(algorithm, cluster).Seconds(2e6));
        }
        smaller = seconds;
      }
    }
  }
}

TEST(AllReduceCostTest, NoAlgorithmBeatsTheBoundOfBandwidth) {
  for (const int64_t ranks : {2, 3, 5, 8, 31, 1024}) {
    const double bound = 2 * double(ranks - 1) / double(ranks) * 4096 * 2;
    for (const AllReduceAlgorithm algorithm : kAllReduceAlgorithms) {
      EXPECT_GT(AllReduceCost(algorithm, Flat(ranks)).Seconds(4096), bound) << Name(algorithm);
    }
  }
}

TEST(AllReduceCostTest, HalvingDoublingWinsByLatencyOnlyAtPowersOfTwo) {
  for (const double bytes : {8.0, 1e9}) {
    EXPECT_LT(AllReduceCost(kHalvingDoubling, Flat(64)).Seconds(bytes),
              AllReduceCost(kRing, Flat(64)).Seconds(bytes));
  }
  // Elsewhere large messages are for the ring.
  EXPECT_LT(AllReduceCost(kHalvingDoubling, Flat(96)).Seconds(8),
            AllReduceCost(kRing, Flat(96)).Seconds(8));
  EXPECT_GT(AllReduceCost(kHalvingDoubling, Flat(96)).Seconds(1e9),
            AllReduceCost(kRing, Flat(96)).Seconds(1e9));
}

// 64 KiB per layer; the last two layers' gradients are final at 2 and 3 s, the first two's at 4.
StepProfile Profile() {
  return {.ready = {{3 << 14, 2}, {2 << 14, 3}, {0, 4}},
          .backward_seconds = 4.5,
          .update_seconds = 1,
          .elements = 4 << 14};
}

constexpr int64_t kLayer = 64 << 10;

TEST(PredictStepTest, AFreeExchangeIsNotSeen) {
  for (const bool blocking : {false, true}) {
    const StepPrediction step =
        PredictStep(Profile(), kLayer, blocking, [](double) { return 0.0; });
    EXPECT_EQ(step.seconds, 5.5);
    EXPECT_EQ(step.exposed_seconds, 0);
  }
}

TEST(PredictStepTest, BucketsHideBehindTheBackwardPassAndTheUpdates) {
  // Ends: 2.5, 3.5, 4.5, 5; updates of 0.25 run to 4.75, 5, 5.25, so the last is there in time.
  StepPrediction step = PredictStep(Profile(), kLayer, false, [](double) { return 0.5; });
  EXPECT_EQ(step.seconds, 5.5);
  EXPECT_EQ(step.exposed_seconds, 0);
  // Ends: 3, 4, 5, 6; updates end at 4.75, 5, 5.25 and, after 0.75 of waiting, 6.25.
  step = PredictStep(Profile(), kLayer, false, [](double) { return 1.0; });
  EXPECT_EQ(step.seconds, 6.25);
  EXPECT_EQ(step.exposed_seconds, 0.75);
}

TEST(PredictStepTest, ABucketIsUpdatedInItsShareOfTheTime) {
  // Three layers, then one: ends 4.5 and 10; the first is updated in 0.75, the other in 0.25.
  const StepPrediction step = PredictStep(Profile(), 3 * kLayer, false,
                                          [](double bytes) { return bytes > kLayer ? 0.5 : 5.5; });
  EXPECT_EQ(step.seconds, 10.25);
  EXPECT_EQ(step.exposed_seconds, 4.75);
}

TEST(PredictStepTest, OneBucketWaitsForTheLastGradient) {
  const StepPrediction step =
      PredictStep(Profile(), 4 * kLayer, false, [](double bytes) { return bytes / kLayer; });
  EXPECT_EQ(step.seconds, 4 + 4 + 1);
  EXPECT_EQ(step.exposed_seconds, 3.5);
}

TEST(PredictStepTest, BlockingExposesEverything) {
  const StepPrediction step = PredictStep(Profile(), kLayer, true, [](double) { return 0.5; });
  EXPECT_EQ(step.seconds, 5.5 + 4 * 0.5);
  EXPECT_EQ(step.exposed_seconds, 4 * 0.5);
}

TEST(PredictStepTest, AnExchangeSlowsThePassBesideIt) {
  StepProfile profile = Profile();
  profile.exchange_load = 0.5;
  // Exchanges: 2 to 3; 3.5 to 4.5; 5 to 6, as the pass ends at 6; 6 to 7. Updates end at 6.25, 6.5,
  // 6.75 and, after 0.25 of waiting, 7.25.
  StepPrediction step = PredictStep(profile, kLayer, false, [](double) { return 1.0; });
  EXPECT_EQ(step.seconds, 7.25);
  EXPECT_EQ(step.exposed_seconds, 0.25);
  // Beside half a second of the pass, which takes a whole one, and then alone.
  step = PredictStep(profile, 4 * kLayer, false, [](double) { return 2.0; });
  EXPECT_EQ(step.seconds, 4.5 + 0.5 + 1 + 1);
  EXPECT_EQ(step.exposed_seconds, 1);
  // Behind the pass there is nothing to slow down.
  step = PredictStep(profile, kLayer, true, [](double) { return 0.5; });
  EXPECT_EQ(step.seconds, 5.5 + 4 * 0.5);
}

TEST(PredictStepTest, NoGradientsNoExchange) {
  const StepProfile profile = {.backward_seconds = 2};
  const StepPrediction step = PredictStep(profile, kLayer, false, [](double) { return 1.0; });
  EXPECT_EQ(step.seconds, 2);
  EXPECT_EQ(step.exposed_seconds, 0);
}

TEST(BestBucketBytesTest, LatencyWantsOneBucketAndBandwidthMany) {
  EXPECT_EQ(BestBucketBytes(Profile(), false, [](double) { return 10.0; }), 4 * kLayer);
  EXPECT_EQ(BestBucketBytes(Profile(), false, [](double bytes) { return bytes / kLayer; }), kLayer);
  // Alike but for rounding: nothing is gained by more messages.
  StepProfile profile = Profile();
  profile.update_seconds = 0.1;
  EXPECT_EQ(BestBucketBytes(profile, false, [](double) { return 0.0; }), 4 * kLayer);
  // Nothing to hide behind: more buckets are more latency.
  EXPECT_EQ(BestBucketBytes(Profile(), true, [](double bytes) { return 1 + bytes / kLayer; }),
            4 * kLayer);
}

}  // namespace
}  // namespace dtnn
