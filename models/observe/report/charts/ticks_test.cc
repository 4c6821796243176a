#include "models/observe/report/charts/ticks.h"

#include <cmath>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;

TEST(TicksTest, StandAtRoundNumbers) {
  EXPECT_THAT(Ticks(0, 100, 5), ElementsAre(0, 20, 40, 60, 80, 100));
  EXPECT_THAT(Ticks(0.3, 2.2, 5), ElementsAre(0, 0.5, 1, 1.5, 2, 2.5));
  EXPECT_THAT(Ticks(-1, 1, 4), ElementsAre(-1, -0.5, 0, 0.5, 1));
  EXPECT_THAT(WholeTicks(1, 3, 8), ElementsAre(1, 2, 3));
  EXPECT_THAT(WholeTicks(1, 100, 5), ElementsAre(20, 40, 60, 80, 100));
  EXPECT_THAT(WholeTicks(4, 4, 5), ElementsAre(4));
}

TEST(TicksTest, EnclosesTheValuesWhateverTheyAre) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> mantissa(-10, 10), exponent(-290, 290);
  for (int i = 0; i < 10'000; ++i) {
    double low = mantissa(random) * std::pow(10, exponent(random));
    double high = i % 5 == 0 ? low : mantissa(random) * std::pow(10, exponent(random));
    if (high < low) std::swap(low, high);
    const std::vector<double> ticks = Ticks(low, high, 5);
    ASSERT_GE(ticks.size(), 2u) << low << " " << high;
    ASSERT_LE(ticks.size(), 7u) << low << " " << high;
    const double slack = 1e-8 * (ticks.back() - ticks.front());
    ASSERT_LE(ticks.front(), low + slack) << low << " " << high;
    ASSERT_GE(ticks.back(), high - slack) << low << " " << high;
    ASSERT_LT(ticks.front(), ticks.back()) << low << " " << high;
  }
}

}  // namespace
}  // namespace dtnn
