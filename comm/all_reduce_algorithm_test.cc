#include "comm/all_reduce_algorithm.h"

#include <cstdlib>
#include <vector>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

Placement Of(const std::vector<int>& nodes) { return PlacementOf(nodes); }

TEST(PlacementTest, OneNode) {
  for (const std::vector<int>& nodes : {std::vector<int>{0}, {4, 4, 4}}) {
    const Placement one = Of(nodes);
    EXPECT_EQ(one.nodes, 1);
    EXPECT_EQ(one.ranks_per_node, int64_t(nodes.size()));
    EXPECT_TRUE(one.even && one.in_order);
    EXPECT_FALSE(StagesPay(one));
  }
}

TEST(PlacementTest, UnevenNodesCountTheLargest) {
  const Placement uneven = Of({0, 0, 0, 1, 1, 1, 2, 2});
  EXPECT_EQ(uneven.nodes, 3);
  EXPECT_EQ(uneven.ranks_per_node, 3);
  EXPECT_FALSE(uneven.even);
  EXPECT_TRUE(uneven.in_order);
}

TEST(PlacementTest, RanksInTurnsAreNotInOrder) {
  EXPECT_FALSE(Of({0, 1, 0, 1}).in_order);
  EXPECT_FALSE(Of({0, 0, 1, 1, 0}).in_order);
  EXPECT_TRUE(Of({7, 7, 3, 3}).in_order);
}

TEST(StagesPayTest, WhereNearRanksAreNotOnOneNode) {
  EXPECT_TRUE(StagesPay(Of({0, 0, 0, 1, 1, 1})));
  EXPECT_TRUE(StagesPay(Of({0, 1, 0, 1})));
  // A power of two in order; alone on their nodes; not as many everywhere.
  EXPECT_FALSE(StagesPay(Of({0, 0, 1, 1})));
  EXPECT_FALSE(StagesPay(Of({0, 1, 2})));
  EXPECT_FALSE(StagesPay(Of({0, 0, 0, 1, 1})));
  EXPECT_FALSE(StagesPay(Of({0, 0, 0}))) << "one node";
  EXPECT_FALSE(StagesPay(Of({5, 2, 8, 1})));
}

TEST(StagesPayTest, ForLargeTensors) {
  const Placement two_of_three = Of({0, 0, 0, 1, 1, 1});
  EXPECT_EQ(AllReduceAlgorithmFor(two_of_three, kStagedBytes), AllReduceAlgorithm::kHierarchical);
  EXPECT_EQ(AllReduceAlgorithmFor(two_of_three, kStagedBytes - 1),
            AllReduceAlgorithm::kHalvingDoubling);
  EXPECT_EQ(AllReduceAlgorithmFor(Of({0, 0, 1, 1}), 1 << 30), AllReduceAlgorithm::kHalvingDoubling);
}

TEST(AllReduceAlgorithmTest, EachHasItsName) {
  EXPECT_EQ(Name(AllReduceAlgorithm::kRing), "ring");
  EXPECT_EQ(Name(AllReduceAlgorithm::kHalvingDoubling), "halving-doubling");
  EXPECT_EQ(Name(AllReduceAlgorithm::kHierarchical), "hierarchical");
}

TEST(AllReduceAlgorithmTest, TheUserMayChooseAnotherForMpi) {
  ASSERT_EQ(unsetenv(kMpiAlgorithmVariable), 0);
  EXPECT_FALSE(OtherMpiAlgorithm());
  ASSERT_EQ(setenv(kMpiAlgorithmVariable, "3", 1), 0);
  EXPECT_FALSE(OtherMpiAlgorithm()) << "the one that is set anyway";
  for (const char* other : {"", "1", "33"}) {
    ASSERT_EQ(setenv(kMpiAlgorithmVariable, other, 1), 0);
    EXPECT_TRUE(OtherMpiAlgorithm()) << other;
  }
  ASSERT_EQ(unsetenv(kMpiAlgorithmVariable), 0);
}

}  // namespace
}  // namespace dtnn
