#include "comm/federation/privacy/privacy.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
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
  ASSERT_TRUE(MakePrivate(begin, 2.0, 1e-6, random, update).ok());
  EXPECT_NEAR(Length(begin, update), 2.0, 1e-3);
  EXPECT_LE(Length(begin, update), 2.0 + 1e-3);
  EXPECT_NEAR((update[7] - begin[7]) / (update[9] - begin[9]), std::sin(7.0) / std::sin(9.0), 1e-2)
      << "in the same direction";
  std::vector<float> near = begin;
  near[3] += 0.5f;
  ASSERT_TRUE(MakePrivate(begin, 2.0, 1e-6, random, near).ok());
  EXPECT_NEAR(Length(begin, near), 0.5, 1e-3) << "a short one is left as it is";
}

TEST(PrivacyTest, NoiseHasTheDeviationAndTheFormOfANormalDistribution) {
  const std::vector<float> begin(200'000, 0.25f);
  std::vector<float> update = begin;
  ChaCha20Stream random = Known(1);
  ASSERT_TRUE(MakePrivate(begin, 1.0, 0.5, random, update).ok());
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
  ASSERT_TRUE(MakePrivate(begin, 1, 1, random, first).ok());
  ASSERT_TRUE(MakePrivate(begin, 1, 1, random, second).ok());
  ASSERT_TRUE(MakePrivate(begin, 1, 1, same, again).ok());
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
  ASSERT_TRUE(MakePrivate(begin, clip, 1 << 20, random, update).ok());
  ASSERT_TRUE(MakePrivate(begin, clip, 1 << 20, same, none).ok());
  double squares = 0;
  for (size_t i = 0; i < kCount; ++i) squares += std::pow(double(update[i]) - none[i], 2);
  EXPECT_LE(std::sqrt(squares), clip);
  EXPECT_GT(std::sqrt(squares), 0.9 * clip);
}

// Fractions of a step, which is 1 again, would show through noise that is whole steps.
TEST(PrivacyTest, WhatIsSentIsWholeSteps) {
  constexpr size_t kCount = 1000;
  const std::vector<float> begin(kCount);
  std::vector<float> update(kCount);
  for (size_t i = 0; i < kCount; ++i) update[i] = float(i) * 0.3f - 17;
  ChaCha20Stream random = Known(6);
  ASSERT_TRUE(MakePrivate(begin, 1e6, 1 << 20, random, update).ok());
  for (const float x : update) EXPECT_EQ(x, std::rint(x));
}

TEST(PrivacyTest, WhatIsNotFiniteIsNotSent) {
  const std::vector<float> begin(10, 1);
  std::vector<float> update = begin;
  update[4] = INFINITY;
  ChaCha20Stream random = Known(3);
  EXPECT_TRUE(absl::IsInvalidArgument(MakePrivate(begin, 1, 1, random, update).status()));
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
  ASSERT_TRUE(MakePrivate(begin, 1, 0.25, random, update).ok());
  EXPECT_NEAR(Length(begin, update), 25, 1);
  for (const float x : update) ASSERT_TRUE(std::isfinite(x));
}

constexpr PrivacyOptions kAdapts = {.clip = 4, .noise = 0.5, .quantile = 0.5};

// Divergences of two Gaussian releases add up, and both are as one with the noise that is accounted
// for; a bit moves the sum by a half at most.
TEST(PrivacyTest, BitsAndUpdatesTellTogetherWhatTheNoiseSays) {
  for (const double of_bits : {0.0, 0.26, 0.5, 3.0, 100.0}) {
    PrivacyOptions options = kAdapts;
    options.bit_noise = of_bits;
    ASSERT_EQ(Validate(options), absl::OkStatus());
    for (const double order : {1.5, 2.0, 32.0}) {
      const double updates = RenyiDivergence(order, 1, options.update_noise());
      const double bits = RenyiDivergence(order, 1, options.bits() / 0.5);
      EXPECT_NEAR(updates + bits, RenyiDivergence(order, 1, 0.5), 1e-9 * order) << of_bits;
    }
  }
  EXPECT_DOUBLE_EQ(kAdapts.bits(), 1);
  EXPECT_DOUBLE_EQ(kAdapts.update_noise(), 0.5 / std::sqrt(1 - 1.0 / 16));
  EXPECT_DOUBLE_EQ((PrivacyOptions{.clip = 4, .noise = 0.5}).update_noise(), 0.5);
  EXPECT_DOUBLE_EQ(NoiseOfClient(kAdapts, 1, 4), kAdapts.update_noise() * 2);
}

// The parts of four clients, multiplied with their factors, are the whole noise of their sum, and
// their mean is the share of those that are below.
TEST(PrivacyTest, BitsHaveTheirNoise) {
  constexpr double kFactors[] = {1, 0.25, 0.1, 0.5};
  constexpr bool kBelow[] = {true, false, false, true};
  for (const double of_bits : {0.3, 5.0}) {
    PrivacyOptions options = kAdapts;
    options.bit_noise = of_bits;
    ChaCha20Stream random = Known(7);
    constexpr int kTimes = 20'000;
    double sum = 0, squares = 0;
    for (int time = 0; time < kTimes; ++time) {
      double of_round = 0;
      for (int i = 0; i < 4; ++i) {
        of_round += kFactors[i] * NumberOfBit(options, kBelow[i], kFactors[i], 4, random);
      }
      const double share = ShareBelow(options, of_round / 1.85);
      sum += share;
      squares += (share - 1.5 / 1.85) * (share - 1.5 / 1.85);
    }
    const double wanted = of_bits / 1.85;
    EXPECT_NEAR(sum / kTimes, 1.5 / 1.85, 5 * wanted / std::sqrt(kTimes)) << of_bits;
    EXPECT_NEAR(std::sqrt(squares / kTimes), wanted, 0.03 * wanted) << of_bits;
  }
}

TEST(PrivacyTest, AnUpdateThatIsNotLongerThanTheClipIsBelow) {
  const std::vector<float> begin(4, 1);
  ChaCha20Stream random = Known(8);
  for (const auto& [length, below] : {std::pair(0.5f, true), std::pair(1.0f, true),
                                      std::pair(1.001f, false), std::pair(9.0f, false)}) {
    std::vector<float> update = begin;
    update[2] += length;
    EXPECT_EQ(Must(MakePrivate(begin, 1, 0.1, random, update)), below) << length;
  }
}

TEST(PrivacyTest, TheClipFollowsTheQuantileInStepsOfAFactor) {
  PrivacyOptions options = kAdapts;
  EXPECT_DOUBLE_EQ(NextClip(options, 4, 0.5), 4);
  EXPECT_DOUBLE_EQ(NextClip(options, 4, 1), 4 * std::exp(-0.1));
  EXPECT_DOUBLE_EQ(NextClip(options, 4, 0), 4 * std::exp(0.1));
  options.clip_rate = 1;
  EXPECT_DOUBLE_EQ(NextClip(options, 4, 1), 4 * std::exp(-0.5));
  EXPECT_DOUBLE_EQ(NextClip(options, 4, -7), 4 * std::exp(1.5)) << "one that lies moves it little";
  EXPECT_DOUBLE_EQ(NextClip(options, 4, 1e12), 4 * std::exp(-1.5));
  EXPECT_DOUBLE_EQ(NextClip(options, 0.0041, 1), 0.004) << "a thousandth of the first one";
  EXPECT_DOUBLE_EQ(NextClip(options, 3999, 0), 4000);
  EXPECT_EQ(kAdapts.WithClip(3).clip, 3);
  EXPECT_EQ(kAdapts.WithClip(0).clip, 4);
  EXPECT_EQ(kAdapts.ToString(),
            "differential privacy with clip 4 and noise 0.5, where the clip follows the quantile "
            "0.5 at the rate 0.2, with noise 1 of its bits");
}

TEST(PrivacyTest, NumbersOfBitsHaveLimits) {
  PrivacyOptions options = kAdapts;  // with noise 1
  for (const double good : {-10.5, 0.0, 10.5}) {
    EXPECT_EQ(CheckNumberOfBit(options, good), absl::OkStatus()) << good;
  }
  EXPECT_EQ(CheckNumberOfBit(options, 10.51).message(),
            "its update says 10.51 of the clip, where its noise allows 10.5 at most");
  EXPECT_FALSE(CheckNumberOfBit(options, -11).ok());
  EXPECT_FALSE(CheckNumberOfBit(options, NAN).ok());
  options.bit_noise = 5;  // sent as fifths
  EXPECT_EQ(CheckNumberOfBit(options, 10.1), absl::OkStatus());
  EXPECT_FALSE(CheckNumberOfBit(options, 10.11).ok());
}

TEST(PrivacyTest, ClipsThatAdaptHaveLimits) {
  const auto why = [](auto change) {
    PrivacyOptions options = kAdapts;
    change(options);
    return std::string(Validate(options).message());
  };
  const std::string expected =
      ": expected more than 0 and less than 1, more than 0 to 10, 0 to 1e6";
  EXPECT_EQ(
      why([](auto& o) { o.quantile = 1; }),
      "a clip that adapts to the quantile 1 at the rate 0.2, with noise 0 of its bits" + expected);
  EXPECT_EQ(why([](auto& o) { o.quantile = -0.5; }),
            "a clip that adapts to the quantile -0.5: expected more than 0, less than 1");
  EXPECT_EQ(why([](auto& o) { o.quantile = NAN; }),
            "a clip that adapts to the quantile nan: expected more than 0, less than 1");
  EXPECT_THAT(why([](auto& o) { o.clip_rate = 0; }), HasSubstr(expected));
  EXPECT_THAT(why([](auto& o) { o.clip_rate = 10.5; }), HasSubstr(expected));
  EXPECT_THAT(why([](auto& o) { o.bit_noise = -1; }), HasSubstr(expected));
  EXPECT_EQ(why([](auto& o) { o.clip = o.noise = 0; }),
            "a clip that adapts to the quantile 0.5: needs differential privacy, with a first clip "
            "and noise");
  EXPECT_EQ(why([](auto& o) { o.bit_noise = 0.25; }),
            "a clip that adapts, with noise 0.25 of its bits: expected more than half of the noise "
            "0.5, of which the updates need the rest");
  EXPECT_EQ(why([](auto& o) { o.bit_noise = 0.251; }), "");
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
