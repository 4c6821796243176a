#include "comm/federation/client/update_numbers.h"

#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "comm/federation/messages.h"
#include "comm/federation/privacy/privacy.h"
#include "comm/federation/protection.h"
#include "comm/secrets/crypto/chacha20_stream.h"
#include "comm/secrets/crypto/wiped.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn::federation {
namespace {

using ::testing::ElementsAre;

TEST(UpdateNumbersTest, ADifferenceIsOfWhatIsTrainedAlone) {
  const std::vector<float> begin = {1, 2, 3}, parameters = {5, 1, 9};
  EXPECT_THAT(DifferenceOf(parameters, begin, 2), ElementsAre(4, -1, 9));
  EXPECT_THAT(DifferenceOf(parameters, begin, 0), ElementsAre(5, 1, 9));
}

// A number that always changes a little less than another one is sent now and then all the same,
// and nothing of it is lost.
TEST(UpdateNumbersTest, WhatIsNotSentIsSentLater) {
  const Compression compression = {.kind = CompressionKind::kTopK, .fraction = 0.5};
  const std::vector<float> begin = {1, 2, 7};  // the last is not trained
  std::vector<float> owed(2), sent(3);
  int of_second = 0;
  for (int round = 1; round <= 20; ++round) {
    std::vector<float> parameters = {begin[0] + 1, begin[1] - 0.375f, 9};
    owed = AddOwed(compression, begin, owed, parameters);
    std::vector<float> difference = DifferenceOf(parameters, begin, 2);
    Select(compression, 2, difference);
    EXPECT_EQ(difference[2], 9);
    of_second += difference[1] != 0 ? 1 : 0;
    for (size_t i = 0; i < 3; ++i) sent[i] += difference[i];
    EXPECT_EQ(sent[0] + owed[0], float(round));
    EXPECT_EQ(sent[1] + owed[1], -0.375f * float(round));
  }
  EXPECT_GT(of_second, 3);
  EXPECT_LT(of_second, 10);
}

// Updates by nothing are noise. The first clip is 1, that of the round 8, which counts.
TEST(UpdateNumbersTest, NoiseAndBitAreThoseOfTheClipOfTheRound) {
  constexpr double kFactor = 0.5;
  constexpr size_t kCount = 20'000;
  const PrivacyOptions privacy = {.clip = 1, .noise = 0.5, .quantile = 0.5};
  for (const Protection protection : {Protection::kNone, Protection::kMasked}) {
    const Protector protector =
        Must(Protector::Create({.protection = protection, .privacy = privacy}, kCount));
    const int together = protector.together(4, 4);
    const std::vector<float> begin(kCount, 0.25f);
    ChaCha20Stream random = Must(ChaCha20Stream::Create(Secret().bytes()));
    const auto sent = [&](std::span<const float> parameters) {
      return Must(PrivateUpdate(protector, 8, std::span(begin).first(parameters.size()), kFactor,
                                together, random, parameters));
    };
    const std::vector<float> noise = sent(begin);
    ASSERT_EQ(noise.size(), kCount + 1);
    double squares = 0;
    for (size_t i = 0; i < kCount; ++i) squares += std::pow(double(noise[i]) - 0.25, 2);
    const double wanted = 8 * privacy.update_noise() / (kFactor * std::sqrt(together));
    EXPECT_NEAR(std::sqrt(squares / kCount), wanted, 0.03 * wanted);
    for (const auto& [length, bit] : {std::pair(4.0f, 0.5), std::pair(9.0f, -0.5)}) {
      std::vector<float> trained(begin.begin(), begin.begin() + 8);
      trained[7] += length;
      double mean = 0;
      constexpr int kTimes = 10'000;
      for (int time = 0; time < kTimes; ++time) mean += double(sent(trained).back()) / kTimes;
      const double deviation = privacy.bits() / (kFactor * std::sqrt(together) * std::sqrt(kTimes));
      EXPECT_NEAR(mean, bit, 5 * deviation) << length;
    }
  }
}

// Noise is made for parameters. Without it, metrics are hidden in a sum that is read, and sent with
// one that is not only where the client says so.
TEST(UpdateNumbersTest, MetricsThatWouldTellOfTheDataAreNotSent) {
  const auto sent = [](Protection protection, bool noise, bool plain_metrics) {
    const PrivacyOptions privacy = {.clip = noise ? 1.0 : 0, .noise = noise ? 1.0 : 0};
    const Protector protector =
        Must(Protector::Create({.protection = protection, .privacy = privacy}, 3));
    Metrics metrics = {{"loss", 3}};
    const std::vector<float> hidden = HideReport(protector, plain_metrics, metrics);
    EXPECT_EQ(hidden.empty(), noise || !protector.hides_in_sums());
    return !metrics.empty() && metrics[0].second == 3;
  };
  for (const bool plain_metrics : {false, true}) {
    for (const Protection protection :
         {Protection::kNone, Protection::kMasked, Protection::kSharedKey, Protection::kThreshold}) {
      EXPECT_FALSE(sent(protection, /*noise=*/true, plain_metrics));
    }
    EXPECT_TRUE(sent(Protection::kNone, false, plain_metrics));
    EXPECT_FALSE(sent(Protection::kMasked, false, plain_metrics));
    EXPECT_FALSE(sent(Protection::kThreshold, false, plain_metrics));
    EXPECT_EQ(sent(Protection::kSharedKey, false, plain_metrics), plain_metrics);
  }
}

}  // namespace
}  // namespace dtnn::federation
