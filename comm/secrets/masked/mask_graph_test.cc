#include "comm/secrets/masked/mask_graph.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn::masked {
namespace {

std::vector<Advertisement> Advertised(int clients, uint8_t seed = 1) {
  std::vector<Advertisement> advertised;
  for (int i = 0; i < clients; ++i) {
    advertised.push_back({.client = i, .sealing = {uint8_t(i), seed}, .masking = {uint8_t(i), 9}});
  }
  return advertised;
}

MaskGraph Draw(int clients, int neighbours, uint8_t seed = 1) {
  return Must(MaskGraph::Draw({.clients = clients, .neighbours = neighbours},
                              Advertised(clients, seed), {}));
}

std::set<int> All(int clients) {
  std::set<int> all;
  for (int i = 0; i < clients; ++i) all.insert(i);
  return all;
}

TEST(MaskGraphTest, EachHasAsManyNeighboursWhichHaveIt) {
  for (const auto& [clients, neighbours] : {std::pair(6, 4), {7, 4}, {20, 8}, {300, 122}}) {
    const MaskGraph graph = Draw(clients, neighbours);
    for (int i = 0; i < clients; ++i) {
      const std::vector<int> around = graph.Around(i);
      const std::set<int> different(around.begin(), around.end());
      EXPECT_EQ(int(different.size()), neighbours + 1);
      EXPECT_TRUE(different.contains(i));
      std::set<int> indices;
      for (int j = 0; j < clients; ++j) {
        EXPECT_EQ(graph.AreNeighbours(i, j), i != j && different.contains(j));
        EXPECT_EQ(graph.AreNeighbours(i, j), graph.AreNeighbours(j, i));
        if (!different.contains(j)) continue;
        EXPECT_EQ(graph.HolderOf(i, graph.ShareIndex(i, j)), j);
        indices.insert(graph.ShareIndex(i, j));
      }
      EXPECT_EQ(*indices.begin(), 0);
      EXPECT_EQ(*indices.rbegin(), neighbours);
      EXPECT_EQ(int(indices.size()), neighbours + 1);
    }
  }
}

TEST(MaskGraphTest, WithoutANumberAllOthersAreNeighbours) {
  const MaskGraph graph = Draw(5, 0);
  EXPECT_EQ(graph.Around(2), std::vector<int>({0, 1, 2, 3, 4}));
  EXPECT_TRUE(graph.AreNeighbours(0, 4));
  EXPECT_FALSE(graph.AreNeighbours(3, 3));
  EXPECT_EQ(graph.ShareIndex(2, 4), 4);
  EXPECT_EQ(graph.HolderOf(2, 4), 4);
  EXPECT_EQ(graph.CountAround(1, {0, 3}), 2);
  EXPECT_TRUE(graph.AreConnected({0, 3}));
}

// By a search over all edges, for random sets of many sizes.
TEST(MaskGraphTest, ConnectedAsASearchFinds) {
  const int clients = 24;
  const MaskGraph graph = Draw(clients, 4);
  uint32_t random = 1;
  int connected = 0, parted = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    std::set<int> there;
    for (int i = 0; i < clients; ++i) {
      random = random * 1664525 + 1013904223;
      if (random >> 28 <= uint32_t(trial % 16)) there.insert(i);
    }
    if (there.empty()) continue;
    std::vector<int> reached = {*there.begin()};
    std::set<int> seen(reached.begin(), reached.end());
    while (!reached.empty()) {
      const int from = reached.back();
      reached.pop_back();
      for (const int to : there) {
        if (graph.AreNeighbours(from, to) && seen.insert(to).second) reached.push_back(to);
      }
    }
    EXPECT_EQ(graph.AreConnected(there), seen == there) << trial;
    seen == there ? ++connected : ++parted;
    int around = 0;
    for (const int i : there) around += i == 3 || graph.AreNeighbours(i, 3) ? 1 : 0;
    EXPECT_EQ(graph.CountAround(3, there), around);
  }
  EXPECT_GT(connected, 500);
  EXPECT_GT(parted, 500);
}

// Each other client is as often a neighbour, over many draws; and any change of what was advertised
// is another draw.
TEST(MaskGraphTest, EachIsANeighbourAsOften) {
  const int clients = 9, draws = 20000;
  std::vector<double> met(clients);
  const std::vector<Advertisement> advertised = Advertised(clients);
  for (int i = 0; i < draws; ++i) {
    const MaskGraph graph = Must(MaskGraph::Draw({.clients = clients, .neighbours = 4}, advertised,
                                                 {uint8_t(i), uint8_t(i >> 8)}));
    for (int j = 1; j < clients; ++j) met[size_t(j)] += graph.AreNeighbours(0, j) ? 1 : 0;
  }
  for (int j = 1; j < clients; ++j) {
    EXPECT_NEAR(met[size_t(j)], draws / 2, 5 * std::sqrt(draws / 4)) << j;
  }
}

// All clients and the server draw the same circle, whichever version they have.
TEST(MaskGraphTest, TheCircleStaysWhatItIs) {
  EXPECT_EQ(Draw(9, 4).Around(3), (std::vector<int>{4, 1, 3, 5, 6}));
  EXPECT_EQ(Draw(40, 6).Around(17), (std::vector<int>{0, 7, 10, 17, 29, 21, 26}));
  EXPECT_EQ(Must(MaskGraph::Draw({.clients = 9, .round = 5, .neighbours = 4}, Advertised(9), {}))
                .Around(3),
            (std::vector<int>{5, 6, 3, 1, 7}));
}

TEST(MaskGraphTest, FollowsFromWhatWasAdvertised) {
  const int clients = 50;
  const auto around = [](const MaskedParameters& parameters, std::vector<Advertisement> list) {
    return Must(MaskGraph::Draw(parameters, list, {})).Around(7);
  };
  const MaskedParameters p = {.clients = clients, .round = 3, .neighbours = 10};
  std::vector<Advertisement> list = Advertised(clients);
  const std::vector<int> known = around(p, list);
  std::ranges::reverse(list);
  EXPECT_EQ(around(p, list), known) << "in any order";
  EXPECT_NE(around({.clients = clients, .round = 4, .neighbours = 10}, list), known);
  EXPECT_NE(Must(MaskGraph::Draw(p, list, {1})).Around(7), known) << "what the server draws";
  std::vector<Advertisement> other = list;
  other[20].own_mask[31] ^= 1;
  EXPECT_NE(around(p, other), known);
  other = list;
  other.pop_back();
  EXPECT_NE(around(p, other), known) << "one less, who is on the circle all the same";
  const MaskGraph graph = Must(MaskGraph::Draw(p, other, {}));
  EXPECT_EQ(graph.Around(0).size(), 11u);
  EXPECT_TRUE(graph.AreConnected(All(clients)));
}

}  // namespace
}  // namespace dtnn::masked
