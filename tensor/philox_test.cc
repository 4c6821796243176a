#include "tensor/philox.h"

#include <algorithm>
#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

using Block = std::array<uint32_t, 4>;

// The known answers that come with the generator's reference implementation (Random123,
// philox4x32 with 10 rounds).
TEST(PhiloxTest, KnownAnswers) {
  EXPECT_EQ(Philox(0, 0).Block(0), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox(~uint64_t{0}, ~uint64_t{0}).Block(~uint64_t{0}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox(0x299f31d0a4093822, 0x0370734413198a2e).Block(0x85a308d3243f6a88),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(PhiloxTest, BitsAreTheBlocksInOrder) {
  const Philox random(7, StreamId(RandomPurpose::kTest));
  for (uint64_t i = 0; i < 40; ++i) EXPECT_EQ(random.Bits(i), random.Block(i / 4)[i % 4]);
}

TEST(PhiloxTest, SeedsStreamsAndCountersAllMatter) {
  std::set<Block> blocks;
  for (uint64_t seed : {0, 1}) {
    for (uint64_t stream : {StreamId(RandomPurpose::kDropout), StreamId(RandomPurpose::kDropout, 1),
                            StreamId(RandomPurpose::kShuffle)}) {
      for (uint64_t counter : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 32}) {
        blocks.insert(Philox(seed, stream).Block(counter));
      }
    }
  }
  EXPECT_EQ(blocks.size(), 2u * 3 * 3);
}

TEST(PhiloxTest, EqualOnAnyNumberOfThreads) {
  const Philox random(3, StreamId(RandomPurpose::kTest, 5));
  const auto draw = [&](int threads) {
    SetNumThreads(threads);
    std::vector<double> values(10007);
    ParallelFor(0, int64_t(values.size()), 16, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) values[size_t(i)] = random.Uniform(uint64_t(i));
    });
    return values;
  };
  const std::vector<double> one = draw(1);
  EXPECT_EQ(draw(2), one);
  EXPECT_EQ(draw(4), one);
}

TEST(PhiloxTest, UniformLiesInTheUnitIntervalAndIsExactInFloat) {
  EXPECT_EQ(Philox::ToUnit(0), 0.0);
  EXPECT_EQ(Philox::ToUnit(255), 0.0);
  EXPECT_LT(float(Philox::ToUnit(~uint32_t{0})), 1.0f);
  const Philox random(1, 2);
  double sum = 0;
  constexpr int kCount = 100000;
  for (uint64_t i = 0; i < kCount; ++i) {
    const double value = random.Uniform(i);
    ASSERT_GE(value, 0.0);
    ASSERT_LT(value, 1.0);
    ASSERT_EQ(double(float(value)), value);
    sum += value;
  }
  EXPECT_NEAR(sum / kCount, 0.5, 5 * 0.289 / 316);  // five standard deviations of the mean
}

TEST(PhiloxTest, BelowStaysInRangeAndReachesEveryNumber) {
  const Philox random(11, 12);
  for (uint32_t bound : {1u, 2u, 3u, 10u, 255u}) {
    std::vector<int> counts(bound);
    for (uint64_t i = 0; i < 40 * uint64_t{bound}; ++i) {
      const uint32_t value = random.Below(i, bound);
      ASSERT_LT(value, bound);
      ++counts[value];
    }
    EXPECT_GT(*std::min_element(counts.begin(), counts.end()), 0) << bound;
  }
  for (uint64_t i = 0; i < 1000; ++i) EXPECT_LT(random.Below(i, ~uint32_t{0}), ~uint32_t{0});
}

}  // namespace
}  // namespace dtnn
