#include "data/loading/division/random_shares.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;

// Each share of a symmetric Dirichlet distribution of n has the mean 1 / n and the variance
// (n - 1) / (n^2 (n alpha + 1)).
TEST(RandomSharesTest, DirichletHasItsMoments) {
  constexpr int64_t kShares = 5;
  constexpr int kDraws = 4000;
  for (const double alpha : {0.05, 0.3, 1.0, 2.5, 40.0}) {
    double first = 0, squares = 0;
    for (int draw = 0; draw < kDraws; ++draw) {
      const std::vector<double> shares = DirichletShares(Philox(7, uint64_t(draw)), alpha, kShares);
      ASSERT_EQ(shares.size(), size_t(kShares));
      EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), 1, 1e-12);
      for (const double share : shares) {
        ASSERT_GE(share, 0);
        squares += (share - 0.2) * (share - 0.2);
      }
      first += shares[0];
    }
    const double variance = 4 / (25 * (5 * alpha + 1));
    EXPECT_NEAR(first / kDraws, 0.2, 5 * std::sqrt(variance / kDraws)) << alpha;
    EXPECT_NEAR(squares / (kDraws * kShares) / variance, 1, 0.08) << alpha;
  }
}

// So small that gamma variates are 0 in double precision.
TEST(RandomSharesTest, TinyAlphasGiveAllToOne) {
  const std::vector<double> shares = DirichletShares(Philox(1, 1), 1e-3, 50);
  EXPECT_GT(*std::ranges::max_element(shares), 0.99);
}

// So small that all variates are 0 in double precision.
TEST(RandomSharesTest, TheTiniestAlphaGivesAllToOne) {
  const std::vector<double> shares = DirichletShares(Philox(1, 1), 1e-7, 50);
  EXPECT_EQ(std::ranges::count(shares, 1.0), 1);
  EXPECT_EQ(std::accumulate(shares.begin(), shares.end(), 0.0), 1);
}

TEST(RandomSharesTest, LogNormalHasItsDeviation) {
  const std::vector<double> shares = LogNormalShares(Philox(3, 9), 1.5, 20000);
  EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), 1, 1e-9);
  double sum = 0, squares = 0;
  for (const double share : shares) sum += std::log(share);
  for (const double share : shares) squares += std::pow(std::log(share) - sum / 20000, 2);
  EXPECT_NEAR(std::sqrt(squares / 20000), 1.5, 0.04);
  const std::vector<double> equal = LogNormalShares(Philox(3, 9), 0, 4);
  EXPECT_THAT(equal, ElementsAre(0.25, 0.25, 0.25, 0.25));
}

TEST(RandomSharesTest, PiecesCoverTheWholeList) {
  EXPECT_THAT(EndsOfShares(std::vector<double>{0.5, 0, 0.3, 0.2}, 10), ElementsAre(5, 5, 8, 10));
  EXPECT_THAT(EndsOfShares(std::vector<double>{0.25, 0.25, 0.25, 0.25}, 2),
              ElementsAre(1, 1, 2, 2));
  EXPECT_THAT(EndsOfShares(std::vector<double>{0.9, 0.1}, 0), ElementsAre(0, 0));
}

}  // namespace
}  // namespace dtnn
