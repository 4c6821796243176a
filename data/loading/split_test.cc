#include "data/loading/split.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(SplitIndicesTest, EveryIndexIsInExactlyOnePart) {
  for (int64_t n : {0, 1, 2, 7, 100, 60000}) {
    for (double fraction : {0.0, 0.2, 0.5, 0.99}) {
      const TrainValidation divided = SplitIndices(n, fraction, 3).value();
      std::vector<int64_t> all = divided.train;
      all.insert(all.end(), divided.validation.begin(), divided.validation.end());
      std::sort(all.begin(), all.end());
      EXPECT_EQ(all, AllIndices(n)) << n << " " << fraction;
      EXPECT_TRUE(std::is_sorted(divided.train.begin(), divided.train.end()));
      EXPECT_TRUE(std::is_sorted(divided.validation.begin(), divided.validation.end()));
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
  const TrainValidation divided = SplitIndices(60000, 0.2, 0).value();
  for (int64_t index : divided.validation) ++tenths[index / 6000];
  for (int count : tenths) EXPECT_NEAR(count, 1200, 200);  // standard deviation 29
}

std::vector<int64_t> PerClass(const std::vector<int64_t>& indices,
                              const std::vector<int32_t>& labels, size_t classes) {
  std::vector<int64_t> counts(classes);
  for (const int64_t i : indices) ++counts[size_t(labels[size_t(i)])];
  return counts;
}

TEST(SplitIndicesTest, EveryClassGivesItsShare) {
  // 280 of one class and 20 of another, which by chance alone would give 0 to 5.
  std::vector<int32_t> labels(300);
  for (size_t i = 0; i < 20; ++i) labels[13 * i + 7] = 1;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const TrainValidation divided = *SplitIndices(300, 0.1, seed, {}, labels);
    EXPECT_EQ(PerClass(divided.validation, labels, 2), (std::vector<int64_t>{28, 2}));
    EXPECT_EQ(divided.train.size(), 270u);
    EXPECT_TRUE(std::is_sorted(divided.validation.begin(), divided.validation.end()));
    std::vector<int64_t> all = divided.train;
    all.insert(all.end(), divided.validation.begin(), divided.validation.end());
    std::sort(all.begin(), all.end());
    EXPECT_EQ(all, AllIndices(300));
  }
  EXPECT_NE(SplitIndices(300, 0.1, 1, {}, labels)->validation,
            SplitIndices(300, 0.1, 2, {}, labels)->validation);
}

TEST(SplitIndicesTest, TheLargestRemaindersAreRoundedUp) {
  // 7 of 20 held out: 5, 7 and 8 samples have the shares 1.75, 2.45 and 2.8; one class has none.
  std::vector<int32_t> labels(5, 0);
  labels.insert(labels.end(), 7, 1);
  labels.insert(labels.end(), 8, 3);
  const TrainValidation divided = *SplitIndices(20, 0.35, 5, {}, labels);
  EXPECT_EQ(PerClass(divided.validation, labels, 4), (std::vector<int64_t>{2, 2, 0, 3}));
}

// Runs on balanced data change as little as can be.
TEST(SplitIndicesTest, StratifiedIsTheRandomSplitWithFewSamplesChanged) {
  std::vector<int32_t> labels(6000);
  for (size_t i = 0; i < labels.size(); ++i) labels[i] = int32_t(i % 10);
  const std::vector<int64_t> random = SplitIndices(6000, 0.1, 0)->validation;
  const std::vector<int64_t> stratified = SplitIndices(6000, 0.1, 0, {}, labels)->validation;
  EXPECT_EQ(PerClass(stratified, labels, 10), std::vector<int64_t>(10, 60));
  std::vector<int64_t> same;
  std::ranges::set_intersection(random, stratified, std::back_inserter(same));
  EXPECT_GT(same.size(), 540u);
}

TEST(SplitIndicesTest, RefusesNonsense) {
  const std::vector<int32_t> labels = {0, 1, -1};
  const std::vector<int64_t> groups = {0};
  const std::string one_each = "the labels must be one class per sample, without groups";
  EXPECT_EQ(SplitIndices(3, 0.5, 0, {}, labels).status().message(), one_each);
  for (const size_t count : {1, 3}) {
    const auto some = std::span(labels).first(count);
    EXPECT_EQ(SplitIndices(2, 0.5, 0, {}, some).status().message(), one_each);
  }
  EXPECT_TRUE(SplitIndices(2, 0.5, 0, {}, std::span(labels).first(2)).ok());
  EXPECT_EQ(SplitIndices(2, 0.5, 0, groups, std::span(labels).first(2)).status().message(),
            one_each);
  for (const auto& [fraction, words] : {std::pair(-0.1, "-0.1"),
                                        {1.0, "1"},
                                        {1.5, "1.5"},
                                        {std::nan(""), "nan"},
                                        {std::numeric_limits<double>::infinity(), "inf"}}) {
    EXPECT_EQ(SplitIndices(10, fraction, 0).status().message(),
              "the fraction of the samples held out for validation must be in [0, 1), not " +
                  std::string(words));
  }
  for (const int64_t n : {int64_t{-1}, (int64_t{1} << 32) + 1}) {
    EXPECT_EQ(
        SplitIndices(n, 0.2, 0).status().message(),
        "a data set of " + std::to_string(n) + " samples cannot be split: expected 0 to 2^32");
  }
}

TEST(SplitTest, WholeGroupsAreHeldOut) {
  const std::vector<int64_t> groups = {0, 10, 15, 30};
  std::set<std::vector<int64_t>> seen;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const TrainValidation divided = SplitIndices(40, 0.25, seed, groups).value();
    EXPECT_EQ(divided.validation.size(), 10u);
    EXPECT_EQ(divided.train.size(), 30u);
    seen.insert(divided.validation);
    // Touched groups: all but one are held out as a whole.
    int64_t partly = 0;
    for (size_t group = 0; group < 4; ++group) {
      const int64_t begin = groups[group], end = group == 3 ? 40 : groups[group + 1];
      const auto held = std::count_if(divided.validation.begin(), divided.validation.end(),
                                      [&](int64_t i) { return i >= begin && i < end; });
      if (held > 0 && held < end - begin) ++partly;
    }
    EXPECT_LE(partly, 1);
  }
  EXPECT_GT(seen.size(), 2u);
  for (const std::vector<int64_t>& wrong : {std::vector<int64_t>{0, 41}, {1, 4}, {0, 9, 8}}) {
    EXPECT_EQ(SplitIndices(40, 0.25, 1, wrong).status().message(),
              "the first samples of the groups must ascend from 0");
  }
  EXPECT_TRUE(SplitIndices(40, 0.25, 1, std::vector<int64_t>{0, 40}).ok());
}

TEST(TakeFractionTest, TakesTheFractionRoundedDown) {
  const auto size = [](int64_t n, double fraction) {
    return int64_t(TakeFraction(AllIndices(n), fraction, 3).value().size());
  };
  EXPECT_EQ(size(100, 0.29), 29);
  EXPECT_EQ(size(1000, 0.0015), 1);
  EXPECT_EQ(size(7, 0.5), 3);
  EXPECT_EQ(size(7, 1), 7);
  EXPECT_EQ(size(7, 1.5), 10);
  EXPECT_EQ(size(7, 3), 21);
  EXPECT_EQ(size(7, 0), 7) << "0 is off";
  EXPECT_EQ(size(0, 0.5), 0);
}

TEST(TakeFractionTest, BelowOneIsARandomSubsetInOrder) {
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < 1000; ++i) indices.push_back(3 * i);
  const std::vector<int64_t> taken = TakeFraction(indices, 0.3, 5).value();
  EXPECT_TRUE(std::is_sorted(taken.begin(), taken.end()));
  EXPECT_EQ(std::set<int64_t>(taken.begin(), taken.end()).size(), 300u);
  EXPECT_TRUE(std::includes(indices.begin(), indices.end(), taken.begin(), taken.end()));
  EXPECT_EQ(taken, TakeFraction(indices, 0.3, 5).value());
  EXPECT_NE(taken, TakeFraction(indices, 0.3, 6).value());
  // A sorted data set keeps its classes: of each third about a third. Deviation: 6.8.
  const auto third = std::lower_bound(taken.begin(), taken.end(), 1000) - taken.begin();
  EXPECT_NEAR(double(third), 100, 41);
}

// With one seed for both, what is used must not be what is held out of as many samples.
TEST(TakeFractionTest, DoesNotDependOnWhatIsHeldOut) {
  std::vector<int64_t> tens;
  for (int64_t i = 0; i < 10000; i += 10) tens.push_back(i);
  for (const std::span<const int64_t> groups :
       {std::span<const int64_t>(), std::span<const int64_t>(tens)}) {
    const std::vector<int64_t> held_out = SplitIndices(10000, 0.2, 7, groups).value().validation;
    const std::vector<int64_t> taken = TakeFraction(AllIndices(10000), 0.2, 7, groups).value();
    std::vector<int64_t> both;
    std::set_intersection(held_out.begin(), held_out.end(), taken.begin(), taken.end(),
                          std::back_inserter(both));
    // Each is a fifth. Deviation: 16, of whole groups of ten 51.
    EXPECT_NEAR(double(both.size()), 400, groups.empty() ? 96 : 306);
  }
}

TEST(TakeFractionTest, AboveOneTheListComesAgain) {
  const std::vector<int64_t> indices = {9, 4, 7, 1};
  std::vector<int64_t> taken = TakeFraction(indices, 2.5, 0).value();
  ASSERT_EQ(taken.size(), 10u);
  EXPECT_TRUE(std::equal(indices.begin(), indices.end(), taken.begin()));
  EXPECT_TRUE(std::equal(indices.begin(), indices.end(), taken.begin() + 4));
  EXPECT_NE(taken[8], taken[9]);
}

TEST(TakeFractionTest, WholeGroupsAreTaken) {
  // Groups of ten; the list has every second sample.
  std::vector<int64_t> indices, groups;
  for (int64_t i = 0; i < 200; i += 2) indices.push_back(i);
  for (int64_t i = 0; i < 200; i += 10) groups.push_back(i);
  const std::vector<int64_t> taken = TakeFraction(indices, 0.25, 1, groups).value();
  EXPECT_EQ(taken.size(), 25u);
  std::set<int64_t> touched;
  for (int64_t index : taken) touched.insert(index / 10);
  EXPECT_EQ(touched.size(), 5u);
}

TEST(TakeFractionTest, RefusesNonsense) {
  const auto code = [](int64_t n, double fraction) {
    return TakeFraction(AllIndices(n), fraction, 0).status().code();
  };
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(code(10, -0.5), kInvalid);
  EXPECT_EQ(code(10, std::nan("")), kInvalid);
  EXPECT_EQ(code(10, std::numeric_limits<double>::infinity()), kInvalid);
  EXPECT_EQ(code(10, 1e300), kInvalid);
  EXPECT_EQ(code(10, 0.09), kInvalid) << "nothing would be left";
}

}  // namespace
}  // namespace dtnn
