#include "data/transforms/mixup.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(MixupTest, SharesAreTheLargerOnesOfABetaDistribution) {
  constexpr int64_t kSamples = 40000;
  for (const double alpha : {0.1, 0.4, 1.0, 2.0}) {
    double squares = 0;
    for (int64_t place = 0; place < kSamples; ++place) {
      const double share = MixupShare(alpha, 3, 4, place);
      ASSERT_GE(share, 0.5);
      ASSERT_LE(share, 1);
      squares += (share - 0.5) * (share - 0.5);
    }
    // The variance of Beta(a, a) around its mean of a half, which folding does not change.
    const double variance = 1 / (4 * (2 * alpha + 1));
    EXPECT_NEAR(squares / kSamples, variance, 6 * 0.12 / std::sqrt(double(kSamples))) << alpha;
  }
}

// The closer alpha is to 0, the less is mixed.
TEST(MixupTest, TheSmallestAlphaMixesNothing) {
  for (int64_t place = 0; place < 100; ++place) {
    for (const double alpha : {1e-310, std::numeric_limits<double>::denorm_min()}) {
      EXPECT_EQ(MixupShare(alpha, 3, 4, place), 1) << place << " " << alpha;
    }
  }
}

// Beta(1, 1) is uniform.
TEST(MixupTest, SharesOfAlphaOneAreUniform) {
  constexpr int64_t kSamples = 10000;
  std::vector<int64_t> counts(5);
  for (int64_t place = 0; place < kSamples; ++place) {
    ++counts[size_t(std::min(4.0, (MixupShare(1, 5, 6, place) - 0.5) * 10))];
  }
  for (const int64_t count : counts) EXPECT_NEAR(double(count), 2000, 6 * 40);
}

TEST(MixupTest, SharesAreAFunctionOfSeedEpochAndPlace) {
  EXPECT_EQ(MixupShare(0.3, 1, 2, 3), MixupShare(0.3, 1, 2, 3));
  EXPECT_NE(MixupShare(0.3, 1, 2, 3), MixupShare(0.3, 2, 2, 3));
  EXPECT_NE(MixupShare(0.3, 1, 2, 3), MixupShare(0.3, 1, 3, 3));
  EXPECT_NE(MixupShare(0.3, 1, 2, 3), MixupShare(0.3, 1, 2, 4));
}

TEST(MixupTest, ValuesAreMixed) {
  std::vector<float> a = {1, 2, 3};
  Mix(0.75, a, std::vector<float>{5, 2, -1});
  EXPECT_EQ(a, (std::vector<float>{2, 2, 2}));
  std::vector<double> b = {1, 2};
  Mix(1, b, std::vector<double>{5, 7});
  EXPECT_EQ(b, (std::vector<double>{1, 2}));
  Mix(0.75, b, std::vector<double>{5, -6});
  EXPECT_EQ(b, (std::vector<double>{2, 0}));
}

TEST(MixupTest, AlphasAreChecked) {
  EXPECT_TRUE(CheckMixup(0).ok());
  EXPECT_TRUE(CheckMixup(2).ok());
  for (const double wrong : {-0.1, 2.1, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(CheckMixup(wrong).code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(CheckMixup(2.5).message(), "mixup: alpha must be a number from 0 to 2, not 2.5");
}

}  // namespace
}  // namespace dtnn
