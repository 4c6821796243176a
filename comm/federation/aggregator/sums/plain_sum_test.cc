#include "comm/federation/aggregator/sums/plain_sum.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn::federation {
namespace {

using ::testing::ElementsAre;

TEST(PlainSumTest, TheMeanIsOverTheFactors) {
  PlainSum sum(3);
  sum.Add(std::vector<float>{1, -2, 3});
  sum.Add(std::vector<float>{3, 6, 0.5});
  EXPECT_THAT(sum.Mean(2), ElementsAre(2, 2, 1.75));
  EXPECT_THAT(sum.Mean(0.5), ElementsAre(8, 8, 7));
}

// In float32 the small numbers would be lost.
TEST(PlainSumTest, SmallNumbersBesideLargeOnesAreNotLost) {
  PlainSum sum(1);
  sum.Add(std::vector<float>{1e8f});
  for (int i = 0; i < 100; ++i) sum.Add(std::vector<float>{1});
  sum.Add(std::vector<float>{-1e8f});
  EXPECT_THAT(sum.Mean(1), ElementsAre(100));
}

// Numbers of all sizes, in blocks that have large ones and blocks that have none.
std::vector<std::vector<float>> RandomUpdates(size_t count, size_t values) {
  std::mt19937 random(5);
  std::uniform_real_distribution<float> exponent(-20, 39), uniform(-1, 1);
  std::vector<std::vector<float>> updates(count, std::vector<float>(values));
  for (std::vector<float>& update : updates) {
    for (size_t i = 0; i < values; ++i) {
      update[i] = uniform(random);
      if (i % 9973 == 0) update[i] = std::ldexp(update[i], int(exponent(random)));
    }
  }
  return updates;
}

TEST(PlainSumTest, HasTheSameBitsInEveryOrderAndOnAnyNumberOfThreads) {
  constexpr size_t kValues = 200001;
  std::vector<std::vector<float>> updates = RandomUpdates(23, kValues);
  std::vector<float> first;
  std::mt19937 random(1);
  const int threads = NumThreads();
  for (int order = 0; order < 4; ++order) {
    SetNumThreads(order % 2 + 1);
    PlainSum sum(kValues);
    for (const std::vector<float>& update : updates) sum.Add(update);
    const std::vector<float> mean = sum.Mean(7.25);
    if (order == 0) first = mean;
    EXPECT_EQ(mean, first);
    std::ranges::shuffle(updates, random);
  }
  SetNumThreads(threads);
  std::vector<long double> wanted(kValues);
  for (const std::vector<float>& update : updates) {
    for (size_t i = 0; i < kValues; ++i) wanted[i] += update[i];
  }
  for (size_t i = 0; i < kValues; ++i) {
    const double mean = double(wanted[i] / 7.25L);
    ASSERT_NEAR(first[i], mean, std::abs(mean) * 0x1p-24 + 23 * 0x1p-46 / 7.25) << i;
  }
}

// Around the numbers that are divided, and where rounding is a tie.
TEST(PlainSumTest, NumbersOfAllSizesAreExact) {
  for (const float x : {16.0f, 15.999999f, 16.000002f, 7.9999995f, 8.0f, 8.000001f, 24.0f, 1e12f,
                        0x1p-45f, 0x1.8p-22f, 1e-6f, 0.0f}) {
    PlainSum sum(2);
    sum.Add(std::vector<float>{x, -x});
    EXPECT_THAT(sum.Mean(1), ElementsAre(x, -x));
    sum.Add(std::vector<float>{100, 1e11f});  // both blocks' numbers are in coarse units now
    sum.Add(std::vector<float>{-100, -1e11f});
    EXPECT_THAT(sum.Mean(1), ElementsAre(x, -x));
  }
  PlainSum sum(1);
  sum.Add(std::vector<float>{0x1p-47f});
  EXPECT_THAT(sum.Mean(1), ElementsAre(0)) << "less than half of a unit";
}

// Without carrying, the sum of these would leave 64 bits.
TEST(PlainSumTest, ManyUpdatesDoNotOverflow) {
  PlainSum sum(2);
  const std::vector<float> update = {15.5, -15.75};
  for (int i = 0; i < 40000; ++i) sum.Add(update);
  EXPECT_THAT(sum.Mean(40000), ElementsAre(15.5, -15.75));
}

std::string Message(std::vector<float> values, double factor, std::vector<float> begin,
                    double max_norm) {
  return std::string(CheckUpdate(values, factor, begin, max_norm).message());
}

TEST(PlainSumTest, UpdatesThatNoNetworkHasAreNamed) {
  const std::string beyond = "its update has numbers beyond 1e+12";
  EXPECT_EQ(Message({1, -9e11f}, 1, {}, 0), "");
  EXPECT_EQ(Message({1, -2e12f}, 1, {}, 0), beyond);
  EXPECT_EQ(Message({1, 2e11f}, 0.1, {}, 0), beyond) << "before its factor";
  EXPECT_EQ(Message({NAN, 1}, 1, {}, 0), beyond);
  EXPECT_EQ(Message({std::numeric_limits<float>::infinity()}, 1, {}, 0), beyond);
}

TEST(PlainSumTest, FarUpdatesAreNamed) {
  // (8, 7) - (5, 3), of length 5, times a factor of 1/2.
  EXPECT_EQ(Message({4, 3.5}, 0.5, {5, 3}, 5), "");
  EXPECT_EQ(Message({4, 3.5}, 0.5, {5, 3}, 4.5),
            "its update has the norm 5, more than the 4.5 that are allowed");
  EXPECT_EQ(Message({4, 3.5}, 0.5, {5, 3}, 0), "") << "no limit";
  EXPECT_EQ(Message({4, 3.5}, 0.5, {}, 4.5), "") << "the parameters are not known";
}

}  // namespace
}  // namespace dtnn::federation
