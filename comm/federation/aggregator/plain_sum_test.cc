#include "comm/federation/aggregator/plain_sum.h"

#include <cmath>
#include <limits>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

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
TEST(PlainSumTest, AddsInDoublePrecision) {
  PlainSum sum(1);
  sum.Add(std::vector<float>{1e8f});
  for (int i = 0; i < 100; ++i) sum.Add(std::vector<float>{1});
  sum.Add(std::vector<float>{-1e8f});
  EXPECT_THAT(sum.Mean(1), ElementsAre(100));
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
