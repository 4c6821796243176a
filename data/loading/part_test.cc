#include "data/loading/part.h"

#include <algorithm>
#include <vector>

#include "data/loading/split.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(PartOfSamplesTest, PartsAreDisjointAndTogetherEverything) {
  for (const int64_t n : {0, 1, 7, 100, 60000}) {
    for (const int64_t parts : {1, 2, 3, 7}) {
      std::vector<int64_t> all;
      int64_t least = n, most = 0;
      for (int64_t part = 1; part <= parts; ++part) {
        const std::vector<int64_t> mine = PartOfSamples(n, part, parts);
        EXPECT_TRUE(std::ranges::is_sorted(mine));
        least = std::min(least, int64_t(mine.size()));
        most = std::max(most, int64_t(mine.size()));
        all.insert(all.end(), mine.begin(), mine.end());
      }
      std::ranges::sort(all);
      EXPECT_EQ(all, AllIndices(n)) << n << " in " << parts;
      EXPECT_LE(most - least, 1) << n << " in " << parts;
    }
  }
}

TEST(PartOfSamplesTest, EachPartIsSpreadOverTheWholeRange) {
  std::vector<int> tenths(10);
  for (const int64_t index : PartOfSamples(60000, 2, 4)) ++tenths[size_t(index / 6000)];
  for (const int count : tenths) EXPECT_NEAR(count, 1500, 200);  // standard deviation 34
}

}  // namespace
}  // namespace dtnn
