#include "data/loading/division/part.h"

#include <algorithm>
#include <iterator>
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

// At seed 0 too, a part says nothing of what is held out of it or of a share that is taken: of one
// stream, all of these would be the beginning of the same order.
TEST(PartOfSamplesTest, PartsDoNotFollowOtherChoices) {
  constexpr int64_t kSamples = 60000;
  const std::vector<int64_t> part = PartOfSamples(kSamples, 1, 10);
  const auto common = [&](const std::vector<int64_t>& others) {
    std::vector<int64_t> both;
    std::ranges::set_intersection(part, others, std::back_inserter(both));
    return both.size();
  };
  // 600 of 6000 by chance, with a standard deviation of 22.
  EXPECT_NEAR(common(SplitIndices(kSamples, 0.1, /*seed=*/0)->validation), 600, 150);
  EXPECT_NEAR(common(*TakeFraction(AllIndices(kSamples), 0.1, /*seed=*/0)), 600, 150);
}

}  // namespace
}  // namespace dtnn
