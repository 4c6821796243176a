#include "data/split.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(SplitIndicesTest, EveryIndexIsInExactlyOnePart) {
  for (int64_t n : {0, 1, 2, 7, 100, 60000}) {
    for (double fraction : {0.0, 0.2, 0.5, 0.99}) {
      const Split split = SplitIndices(n, fraction, 3).value();
      std::vector<int64_t> all = split.train;
      all.insert(all.end(), split.validation.begin(), split.validation.end());
      std::sort(all.begin(), all.end());
      EXPECT_EQ(all, AllIndices(n)) << n << " " << fraction;
      EXPECT_TRUE(std::is_sorted(split.train.begin(), split.train.end()));
      EXPECT_TRUE(std::is_sorted(split.validation.begin(), split.validation.end()));
    }
  }
}

TEST(SplitIndicesTest, HoldsOutTheFractionRoundedDown) {
  const auto validation = [](int64_t n, double fraction) {
    return SplitIndices(n, fraction, 0).value().validation.size();
  };
  EXPECT_EQ(validation(60000, 0.2), 12000u);
  EXPECT_EQ(SplitIndices(60000, 0.2, 0).value().train.size(), 48000u);
  EXPECT_EQ(validation(9, 0.2), 1u);
  EXPECT_EQ(validation(4, 0.2), 0u);
  EXPECT_EQ(validation(100, 0.29), 29u);  // 28.999999999999996 in double
  EXPECT_EQ(validation(10, 0), 0u);
  EXPECT_EQ(validation(1, 0.999), 0u);
}

TEST(SplitIndicesTest, IsDeterminedByTheSeed) {
  EXPECT_EQ(SplitIndices(1000, 0.2, 1).value().validation,
            SplitIndices(1000, 0.2, 1).value().validation);
  EXPECT_NE(SplitIndices(1000, 0.2, 1).value().validation,
            SplitIndices(1000, 0.2, 2).value().validation);
}

TEST(SplitIndicesTest, IsSpreadOverTheWholeRange) {
  // A sorted data set keeps its classes: each tenth of the range gives about a tenth.
  std::vector<int> tenths(10);
  const Split split = SplitIndices(60000, 0.2, 0).value();
  for (int64_t index : split.validation) ++tenths[index / 6000];
  for (int count : tenths) EXPECT_NEAR(count, 1200, 200);  // standard deviation 29
}

TEST(SplitIndicesTest, RefusesNonsense) {
  for (double fraction : {-0.1, 1.0, 1.5, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_FALSE(SplitIndices(10, fraction, 0).ok()) << fraction;
  }
  EXPECT_FALSE(SplitIndices(-1, 0.2, 0).ok());
}

TEST(SplitTest, WholeGroupsAreHeldOut) {
  const std::vector<int64_t> groups = {0, 10, 15, 30};
  std::set<std::vector<int64_t>> seen;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Split split = SplitIndices(40, 0.25, seed, groups).value();
    EXPECT_EQ(split.validation.size(), 10u);
    EXPECT_EQ(split.train.size(), 30u);
    seen.insert(split.validation);
    // Touched groups: all but one are held out as a whole.
    int64_t partly = 0;
    for (size_t group = 0; group < 4; ++group) {
      const int64_t begin = groups[group], end = group == 3 ? 40 : groups[group + 1];
      const auto held = std::count_if(split.validation.begin(), split.validation.end(),
                                      [&](int64_t i) { return i >= begin && i < end; });
      if (held > 0 && held < end - begin) ++partly;
    }
    EXPECT_LE(partly, 1);
  }
  EXPECT_GT(seen.size(), 2u);
  EXPECT_FALSE(SplitIndices(40, 0.25, 1, std::vector<int64_t>{0, 41}).ok());
  EXPECT_FALSE(SplitIndices(40, 0.25, 1, std::vector<int64_t>{1, 4}).ok());
}

}  // namespace
}  // namespace dtnn
