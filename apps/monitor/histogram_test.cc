#include "apps/monitor/histogram.h"

#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(HistogramTest, AValueCountsUpToItsBound) {
  static constexpr double kBounds[] = {0.5, 1, 4};
  Histogram histogram(kBounds);
  EXPECT_THAT(histogram.counts(), ::testing::ElementsAre(0, 0, 0, 0));
  for (const double value : {-1.0, 0.5, 0.51, 1.0, 4.0, 4.25, 100.0, 3.0}) histogram.Add(value);
  EXPECT_THAT(histogram.counts(), ::testing::ElementsAre(2, 2, 2, 2));
  EXPECT_DOUBLE_EQ(histogram.sum(), 112.26);
  histogram.Add(std::numeric_limits<double>::infinity());
  EXPECT_EQ(histogram.counts()[3], 3);
  EXPECT_THAT(histogram.bounds(), ::testing::ElementsAre(0.5, 1, 4));
}

}  // namespace
}  // namespace dtnn
