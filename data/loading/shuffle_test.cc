#include "data/loading/shuffle.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <vector>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

std::vector<int64_t> Shuffled(int64_t n, uint64_t seed, uint64_t stream = 0) {
  std::vector<int64_t> values(n);
  std::iota(values.begin(), values.end(), 0);
  Shuffle(Philox(seed, stream), values);
  return values;
}

TEST(ShuffleTest, KeepsEveryValue) {
  for (int64_t n : {0, 1, 2, 3, 4, 5, 63, 1000}) {
    std::vector<int64_t> values = Shuffled(n, 1);
    std::sort(values.begin(), values.end());
    for (int64_t i = 0; i < n; ++i) EXPECT_EQ(values[i], i);
  }
}

TEST(ShuffleTest, IsAFunctionOfSeedAndStream) {
  EXPECT_EQ(Shuffled(1000, 1, 2), Shuffled(1000, 1, 2));
  EXPECT_NE(Shuffled(1000, 1, 2), Shuffled(1000, 1, 3));
  EXPECT_NE(Shuffled(1000, 1, 2), Shuffled(1000, 2, 2));
}

TEST(ShuffleTest, DrawsNumberIForPositionI) {
  const Philox random(7, 9);
  std::vector<int64_t> expected(21);
  std::iota(expected.begin(), expected.end(), 0);
  for (uint32_t i = 20; i > 0; --i) std::swap(expected[i], expected[random.Below(i, i + 1)]);
  EXPECT_EQ(Shuffled(21, 7, 9), expected);
}

TEST(ShuffleTest, EveryOrderIsEquallyLikely) {
  constexpr int kRounds = 24000;
  std::map<std::vector<int64_t>, int> seen;
  for (int round = 0; round < kRounds; ++round) ++seen[Shuffled(4, 5, round)];
  ASSERT_EQ(seen.size(), 24u);
  // Binomial with mean 1000 and standard deviation 31.
  for (const auto& [order, count] : seen) {
    EXPECT_NEAR(count, kRounds / 24, 150) << ::testing::PrintToString(order);
  }
}

}  // namespace
}  // namespace dtnn
