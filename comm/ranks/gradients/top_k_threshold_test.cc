#include "comm/ranks/gradients/top_k_threshold.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(TopKThresholdTest, IsTheKthLargestMagnitude) {
  std::mt19937 random(4);
  std::normal_distribution<float> normal(0, 1e-3f);
  for (const size_t size : {size_t{2}, size_t{3}, size_t{1000}, size_t{20011}}) {
    std::vector<float> numbers(size);
    // Many are equal, and many nearly.
    for (float& x : numbers) x = random() % 4 == 0 ? -0.5f : normal(random);
    std::vector<uint32_t> magnitudes;
    for (const float x : numbers) magnitudes.push_back(Magnitude(x));
    std::ranges::sort(magnitudes, std::greater());
    for (size_t k = 1; k < size; k += 1 + size / 50) {
      ASSERT_EQ(TopKThreshold(numbers, int64_t(k)), std::max(1u, magnitudes[k - 1])) << size;
    }
    EXPECT_EQ(TopKThreshold(numbers, int64_t(size)), 1u);
  }
}

TEST(TopKThresholdTest, ZerosAreNeverAmongThem) {
  EXPECT_EQ(TopKThreshold(std::vector<float>(10, 0), 3), 1u);
  EXPECT_EQ(TopKThreshold(std::vector<float>{0, -0.0f, 7, 0}, 2), 1u);
  EXPECT_EQ(TopKThreshold({}, 1), 1u);
}

TEST(TopKThresholdTest, WhatIsNoNumberComesFirst) {
  EXPECT_EQ(TopKThreshold(std::vector<float>{1, -NAN, INFINITY, 1e30f}, 1), Magnitude(NAN));
  EXPECT_EQ(TopKThreshold(std::vector<float>{1, NAN, -INFINITY, 1e30f}, 2), Magnitude(INFINITY));
}

}  // namespace
}  // namespace dtnn
