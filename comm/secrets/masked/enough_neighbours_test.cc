#include "comm/secrets/masked/enough_neighbours.h"

#include <cmath>
#include <map>

#include "gtest/gtest.h"

namespace dtnn::masked {
namespace {

// hypergeom.sf(least - 1, all, marked, drawn) of SciPy 1.
TEST(EnoughNeighboursTest, TailsAreThoseOfAnotherImplementation) {
  struct Known {
    int all, marked, drawn, least;
    double tail;
  };
  for (const Known& known : {Known{9, 3, 4, 2, 0.40476190476190477},
                             {9, 9, 4, 4, 1.0},
                             {9, 0, 4, 1, 0.0},
                             {9, 5, 6, 0, 1.0},
                             {99, 30, 64, 34, 0.0},
                             {254, 63, 112, 58, 4.70317678128082e-20},
                             {999, 250, 182, 93, 1.8631341145393616e-17},
                             {999, 300, 182, 90, 7.68221557222236e-10},
                             {999, 300, 182, 60, 0.19261935515793466},
                             {4095, 1023, 224, 114, 7.716447363670546e-18}}) {
    const double tail = HypergeometricTail(known.all, known.marked, known.drawn, known.least);
    EXPECT_NEAR(tail, known.tail, 1e-9 * known.tail) << known.all << " " << known.least;
  }
}

// Every way to draw 4 of 9 things, of which the first 3 are marked.
TEST(EnoughNeighboursTest, TailsAreThoseOfAllWaysToDraw) {
  std::map<int, int> ways;
  for (unsigned set = 0; set < 1u << 9; ++set) {
    if (__builtin_popcount(set) == 4) ++ways[__builtin_popcount(set & 7)];
  }
  double above = 0;
  for (int least = 4; least >= 0; --least) {
    above += ways[least];
    EXPECT_NEAR(HypergeometricTail(9, 3, 4, least), above / 126, 1e-12) << least;
  }
}

// Computed from those tails of SciPy by the same rules.
TEST(EnoughNeighboursTest, AsManyAsTheTailsSay) {
  const std::map<int, int> known = {{2, 1},      {3, 2},      {5, 4},      {6, 5},     {8, 7},
                                    {10, 9},     {16, 12},    {17, 14},    {32, 22},   {50, 34},
                                    {64, 42},    {100, 64},   {128, 74},   {200, 100}, {255, 112},
                                    {256, 112},  {300, 122},  {400, 138},  {500, 150}, {700, 166},
                                    {1000, 182}, {1024, 182}, {2000, 206}, {4096, 224}};
  for (const auto& [clients, neighbours] : known) {
    EXPECT_EQ(EnoughNeighbours(clients), neighbours) << clients;
  }
}

// What the header promises, by sums of logarithms instead of products; and with one pair fewer, one
// of the promises is broken.
TEST(EnoughNeighboursTest, FewestThatKeepThePromises) {
  const auto choose = [](int n, int k) {
    return std::lgamma(n + 1.) - std::lgamma(k + 1.) - std::lgamma(n - k + 1.);
  };
  const auto tail = [&](int all, int marked, int drawn, int least) {
    double sum = 0;
    for (int x = std::max({least, 0, marked + drawn - all}); x <= std::min(marked, drawn); ++x) {
      sum += std::exp(choose(marked, x) + choose(all - marked, drawn - x) - choose(all, drawn));
    }
    return sum;
  };
  for (int n = 30; n <= 1030; n += 37) {
    const int helpers = n / 4, drop_outs = 3 * n / 10;
    const auto fails = [&](int k) {
      const int threshold = k / 2 + 2;
      const int others = helpers + drop_outs;
      const double parts =
          k > others ? 0 : 0.5 * n * n * std::exp(choose(n - k, others - k) - choose(n, others));
      return n * tail(n - 1, helpers, k, threshold) > 0x1p-41 || parts > 0x1p-41 ||
             n * tail(n - 1, drop_outs, k, k - threshold + 1) > 0x1p-20;
    };
    const int k = EnoughNeighbours(n);
    EXPECT_LT(k, 255) << "shares are bytes";
    EXPECT_FALSE(fails(k)) << n;
    EXPECT_TRUE(fails(k - 2)) << n;
  }
}

// What docs/security.md says of more helpers than a quarter, where each of 1000 clients has 182
// neighbours and 93 shares unmask one.
TEST(EnoughNeighboursTest, MoreHelpersThanAQuarterOfAThousandClients) {
  const int neighbours = EnoughNeighbours(1000), threshold = ThresholdOf(neighbours);
  const auto unmasks_one = [&](int helpers) {
    return HypergeometricTail(999, helpers, neighbours, threshold);
  };
  EXPECT_LT((1000 - 333) * unmasks_one(333), 1.0 / 32000) << "a third, by a union bound";
  EXPECT_GT((1000 - 400) * unmasks_one(400), 0.1) << "two fifths";
  EXPECT_NEAR(unmasks_one(500), 0.4, 0.02) << "a half";
}

}  // namespace
}  // namespace dtnn::masked
