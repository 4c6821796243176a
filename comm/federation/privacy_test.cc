#include "comm/federation/privacy.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn::federation {
namespace {

using ::testing::HasSubstr;

ChaCha20Stream Known(uint64_t stream) {
  std::array<uint8_t, Secret::kSize> seed{};
  seed[0] = 5;
  return Must(ChaCha20Stream::Create(seed, stream));
}

std::vector<float> Wave(size_t n, float height) {
  std::vector<float> values(n);
  for (size_t i = 0; i < n; ++i) values[i] = height * std::sin(float(i));
  return values;
}

double Length(const std::vector<float>& a, const std::vector<float>& b) {
  double squares = 0;
  for (size_t i = 0; i < a.size(); ++i) squares += std::pow(double(a[i]) - b[i], 2);
  return std::sqrt(squares);
}

// With next to no noise only the cut is seen.
TEST(PrivacyTest, UpdatesAreCutToTheClip) {
  const std::vector<float> begin = Wave(5000, 1);
  std::vector<float> update = Wave(5000, 3);  // 100 away
  ChaCha20Stream random = Known(0);
  ASSERT_EQ(MakePrivate(begin, 2.0, 1e-6, random, update), absl::OkStatus());
  EXPECT_NEAR(Length(begin, update), 2.0, 1e-3);
  EXPECT_LE(Length(begin, update), 2.0 + 1e-3);
  EXPECT_NEAR((update[7] - begin[7]) / (update[9] - begin[9]), std::sin(7.0) / std::sin(9.0), 1e-2)
      << "in the same direction";
  std::vector<float> near = begin;
  near[3] += 0.5f;
  ASSERT_EQ(MakePrivate(begin, 2.0, 1e-6, random, near), absl::OkStatus());
  EXPECT_NEAR(Length(begin, near), 0.5, 1e-3) << "a short one is left as it is";
}

TEST(PrivacyTest, NoiseHasTheDeviationAndTheFormOfANormalDistribution) {
  const std::vector<float> begin(200'000, 0.25f);
  std::vector<float> update = begin;
  ChaCha20Stream random = Known(1);
  ASSERT_EQ(MakePrivate(begin, 1.0, 0.5, random, update), absl::OkStatus());
  double sum = 0, squares = 0, fourth = 0;
  int within = 0;
  for (const float x : update) {
    const double z = (x - 0.25) / 0.5;
    sum += z;
    squares += z * z;
    fourth += z * z * z * z;
    within += std::abs(z) < 1 ? 1 : 0;
  }
  const double n = double(update.size());
  EXPECT_NEAR(sum / n, 0, 5 / std::sqrt(n));
  EXPECT_NEAR(squares / n, 1, 5 * std::sqrt(2 / n));
  EXPECT_NEAR(fourth / n, 3, 5 * std::sqrt(96 / n));
  EXPECT_NEAR(within / n, std::erf(std::sqrt(0.5)), 5 * 0.47 / std::sqrt(n));
}

TEST(PrivacyTest, NoiseIsNewEachTimeAndOfTheStreamAlone) {
  const std::vector<float> begin(100, 1);
  std::vector<float> first = begin, second = begin, again = begin;
  ChaCha20Stream random = Known(2), same = Known(2);
  ASSERT_EQ(MakePrivate(begin, 1, 1, random, first), absl::OkStatus());
  ASSERT_EQ(MakePrivate(begin, 1, 1, random, second), absl::OkStatus());
  ASSERT_EQ(MakePrivate(begin, 1, 1, same, again), absl::OkStatus());
  EXPECT_NE(first, second);
  EXPECT_EQ(first, again);
}

// Steps of 2^-20 deviations are coarse where the deviation is large. The same noise on a long
// update and on none at all; numbers below 2^24 steps, of which a step is 1, are exact.
TEST(PrivacyTest, RoundingLengthensNoUpdateBeyondTheClip) {
  constexpr size_t kCount = 1000;
  const std::vector<float> begin(kCount);
  const double clip = 10.6 * std::sqrt(double(kCount));  // each number would be rounded to 11
  std::vector<float> update(kCount, 1e6f), none = begin;
  ChaCha20Stream random = Known(5), same = Known(5);
  ASSERT_EQ(MakePrivate(begin, clip, 1 << 20, random, update), absl::OkStatus());
  ASSERT_EQ(MakePrivate(begin, clip, 1 << 20, same, none), absl::OkStatus());
  double squares = 0;
  for (size_t i = 0; i < kCount; ++i) squares += std::pow(double(update[i]) - none[i], 2);
  EXPECT_LE(std::sqrt(squares), clip);
  EXPECT_GT(std::sqrt(squares), 0.9 * clip);
}

TEST(PrivacyTest, WhatIsNotFiniteIsNotSent) {
  const std::vector<float> begin(10, 1);
  std::vector<float> update = begin;
  update[4] = INFINITY;
  ChaCha20Stream random = Known(3);
  EXPECT_TRUE(absl::IsInvalidArgument(MakePrivate(begin, 1, 1, random, update)));
}

// The parts of so many clients together, multiplied with their factors, are the whole noise.
TEST(PrivacyTest, PartsOfTheNoiseAddUp) {
  const PrivacyOptions options = {.clip = 3, .noise = 0.5};
  double variance = 0;
  for (const double factor : {1.0, 0.25, 0.1, 0.5}) {
    variance += std::pow(factor * NoiseOfClient(options, factor, 4), 2);
  }
  EXPECT_NEAR(std::sqrt(variance), 1.5, 1e-12);
}

// 12 of deviation for one, of which four with a factor of a half give 3 each to the sum.
TEST(PrivacyTest, NoiseIsThatOfTheClipOverTheFactor) {
  EXPECT_DOUBLE_EQ(NoiseOfClient({.clip = 4, .noise = 3}, 1, 1), 12);
  EXPECT_DOUBLE_EQ(NoiseOfClient({.clip = 4, .noise = 3}, 0.5, 4), 12);
  EXPECT_EQ((PrivacyOptions{.clip = 4, .noise = 0.5}).ToString(),
            "differential privacy with clip 4 and noise 0.5");
}

// As of a model that has not moved: noise all the same.
TEST(PrivacyTest, AnUpdateOfNothingIsNoise) {
  const std::vector<float> begin(10'000, 2);
  std::vector<float> update = begin;
  ChaCha20Stream random = Known(6);
  ASSERT_EQ(MakePrivate(begin, 1, 0.25, random, update), absl::OkStatus());
  EXPECT_NEAR(Length(begin, update), 25, 1);
  for (const float x : update) ASSERT_TRUE(std::isfinite(x));
}

TEST(PrivacyTest, WhoReadsUpdatesIsToldMoreThanWhoReadsSums) {
  const PrivacyOptions options = {.clip = 1, .noise = 2};
  PrivacyLedger plain, masked;
  for (int round = 0; round < 10; ++round) {
    plain.AddUpdates(options);
    plain.AddModel(options, 9, 1, 0.5);
    masked.AddRead(options, 4, 4);
    masked.AddModel(options, 4, 4, 0.5);
  }
  RenyiAccountant updates, sums;
  for (int round = 0; round < 10; ++round) {
    updates.Add(1, 2);
    sums.Add(0.5, 6);
  }
  EXPECT_EQ(plain.aggregator().Epsilon(1e-5), updates.Epsilon(1e-5));
  EXPECT_EQ(plain.model().Epsilon(1e-5), sums.Epsilon(1e-5)) << "of nine clients' noise";
  EXPECT_EQ(masked.aggregator().Epsilon(1e-5), updates.Epsilon(1e-5)) << "of a whole together";
  EXPECT_LT(masked.model().Epsilon(1e-5), masked.aggregator().Epsilon(1e-5));
  PrivacyLedger resumed;
  EXPECT_TRUE(resumed.model().Restore(plain.model().spent()));
  EXPECT_EQ(resumed.model().Epsilon(1e-5), plain.model().Epsilon(1e-5));
  EXPECT_FALSE(resumed.model().Restore({1, 2, 3}));
}

TEST(PrivacyTest, OptionsThatMakeNoSenseAreRefused) {
  EXPECT_EQ(Validate(PrivacyOptions{}), absl::OkStatus());
  EXPECT_EQ(Validate(PrivacyOptions{.clip = 1, .noise = 1}), absl::OkStatus());
  EXPECT_THAT(std::string(Validate(PrivacyOptions{.noise = 1}).message()),
              HasSubstr("needs both, or neither"));
  EXPECT_EQ(Validate(PrivacyOptions{.clip = 1}).message(),
            "differential privacy with clip 1 and noise 0: needs both, or neither")
      << "without noise nothing is private";
  const std::string expected = ": expected 0 to 1e12, 0 to 1e6, 1e-30 to 0.5";
  EXPECT_EQ(Validate(PrivacyOptions{.clip = NAN, .noise = 2, .delta = 0.25}).message(),
            "differential privacy with clip nan, noise 2, delta 0.25" + expected);
  EXPECT_EQ(Validate(PrivacyOptions{.clip = 1, .noise = 2, .delta = 0}).message(),
            "differential privacy with clip 1, noise 2, delta 0" + expected);
  EXPECT_EQ(Validate(PrivacyOptions{.clip = 1e12, .noise = 1e6, .delta = 0.5}), absl::OkStatus());
  EXPECT_EQ(Validate(PrivacyOptions{.clip = 1, .noise = 1, .delta = 1e-30}), absl::OkStatus());
  for (const PrivacyOptions& bad :
       {PrivacyOptions{.clip = 1.001e12, .noise = 1}, PrivacyOptions{.clip = -1, .noise = 1},
        PrivacyOptions{.clip = 1, .noise = 1.001e6}, PrivacyOptions{.clip = 1, .noise = -1},
        PrivacyOptions{.clip = 1, .noise = 1, .delta = 0.501},
        PrivacyOptions{.clip = 1, .noise = 1, .delta = 0.9e-30}}) {
    EXPECT_THAT(std::string(Validate(bad).message()),
                HasSubstr(": expected 0 to 1e12, 0 to 1e6, 1e-30 to 0.5"));
  }
  EXPECT_EQ(Validate(PrivacyOptions{.clip = 3}).message(),
            "differential privacy with clip 3 and noise 0: needs both, or neither");
}

}  // namespace
}  // namespace dtnn::federation
