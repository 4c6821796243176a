#include "comm/federation/protection.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn::federation {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr Protection kAll[] = {Protection::kNone, Protection::kMasked, Protection::kSharedKey,
                               Protection::kThreshold};

Protector Of(Protection protection, const PrivacyOptions& privacy = {}) {
  return Must(Protector::Create({.protection = protection, .privacy = privacy}, 10));
}

TEST(ProtectionTest, WhoReadsWhat) {
  const bool readable[] = {true, true, false, true}, hides[] = {false, true, false, true};
  for (size_t i = 0; i < 4; ++i) {
    const Protector protector = Of(kAll[i]);
    EXPECT_EQ(protector.protection(), kAll[i]);
    EXPECT_EQ(protector.readable(), readable[i]) << i;
    EXPECT_EQ(protector.hides_in_sums(), hides[i]) << i;
    EXPECT_EQ(protector.context() != nullptr, i >= 2) << i;
    // Where the aggregator reads sums only, metrics are in them, unless there is noise.
    EXPECT_EQ(protector.sum_values(10), hides[i] ? 74u : 10u) << i;
    EXPECT_EQ(Of(kAll[i], {.clip = 1, .noise = 1}).sum_values(10), 10u) << i;
  }
}

TEST(ProtectionTest, SoManyUpdatesAreReadTogether) {
  EXPECT_EQ(Of(Protection::kNone).together(3, 9), 1);
  EXPECT_EQ(Of(Protection::kMasked).together(3, 9), 7) << "that many can remove the masks";
  EXPECT_EQ(Of(Protection::kMasked).together(8, 9), 8);
  EXPECT_EQ(Of(Protection::kSharedKey).together(3, 9), 3);
  EXPECT_EQ(Of(Protection::kThreshold).together(3, 9), 9);
}

TEST(ProtectionTest, NeighboursAreAtLeastThoseThatAreEnough) {
  const auto with = [](int neighbours) {
    return Must(
        Protector::Create({.protection = Protection::kMasked, .mask_neighbours = neighbours}, 10));
  };
  EXPECT_EQ(with(0).mask_neighbours(255), 0) << "all others";
  EXPECT_EQ(with(1).mask_neighbours(1000), 182);
  EXPECT_EQ(with(182).mask_neighbours(1000), 182);
  EXPECT_EQ(with(183).mask_neighbours(1000), 184) << "as many on both sides";
  EXPECT_EQ(with(254).mask_neighbours(1024), 254);
  EXPECT_EQ(with(1).mask_neighbours(100), 64);
  EXPECT_EQ(with(200).mask_neighbours(100), 0) << "more than there are others";
  EXPECT_EQ(with(1).mask_neighbours(3), 0);
  EXPECT_EQ(with(1).together(3, 1000), 667);
  EXPECT_EQ(with(1).together(700, 1000), 700);
  EXPECT_EQ(with(1).ToString(), "masks with 1 neighbours or more");
  EXPECT_NE(with(1).ToString(), with(2).ToString()) << "both sides have to agree";
}

TEST(ProtectionTest, NeighboursAllowLargerRounds) {
  const ProtectionOptions all = {.protection = Protection::kMasked};
  const ProtectionOptions some = {.protection = Protection::kMasked, .mask_neighbours = 1};
  EXPECT_EQ(MostParticipants(all), 255);
  EXPECT_EQ(MostParticipants(some), 1024);
  EXPECT_EQ(MostAsked(some, /*holds=*/false), 1024);
  EXPECT_EQ(MostAsked(some, /*holds=*/true), 64);
  EXPECT_EQ(MostParticipants({.protection = Protection::kThreshold, .mask_neighbours = 1}), 64);
}

TEST(ProtectionTest, ChunksHoldAllNumbers) {
  EXPECT_EQ(Of(Protection::kMasked).chunk_values(), 65536u);
  EXPECT_EQ(Of(Protection::kNone).chunks(65536), 1u);
  EXPECT_EQ(Of(Protection::kNone).chunks(65537), 2u);
  EXPECT_EQ(Of(Protection::kNone).chunks(0), 0u);
  for (const Protection protection : {Protection::kSharedKey, Protection::kThreshold}) {
    EXPECT_EQ(Of(protection).chunk_values(), Of(protection).context()->parameters().values());
  }
}

TEST(ProtectionTest, BothSidesAgreeOnItInWords) {
  EXPECT_EQ(Of(Protection::kNone).ToString(), "no encryption");
  EXPECT_EQ(Of(Protection::kMasked).ToString(), "masks");
  EXPECT_THAT(Of(Protection::kSharedKey).ToString(),
              StartsWith("CKKS with a key that clients share, "));
  EXPECT_THAT(Of(Protection::kThreshold).ToString(), StartsWith("CKKS with threshold keys, "));
  EXPECT_EQ(Of(Protection::kMasked, {.clip = 2, .noise = 1}).ToString(),
            "masks, differential privacy with clip 2 and noise 1");
  for (const Protection protection : {Protection::kSharedKey, Protection::kThreshold}) {
    const ProtectionOptions other = {.protection = protection, .log2_degree = 14};
    EXPECT_NE(Must(Protector::Create(other, 10)).ToString(), Of(protection).ToString());
  }
}

TEST(ProtectionTest, OptionsReachTheParameters) {
  EXPECT_EQ(Of(Protection::kSharedKey).context()->parameters().log2_scale, 40);
  EXPECT_EQ(Of(Protection::kThreshold).context()->parameters().log2_scale, 61);
  const Protector protector = Must(Protector::Create(
      {.protection = Protection::kSharedKey, .log2_degree = 14, .log2_scale = 35, .security = 192},
      10));
  EXPECT_EQ(protector.context()->parameters().log2_degree, 14);
  EXPECT_EQ(protector.context()->parameters().log2_scale, 35);
  EXPECT_EQ(protector.context()->parameters().security, 192);
}

TEST(ProtectionTest, WhatProtectsNobodyIsRefused) {
  const auto error = [](const ProtectionOptions& options, size_t values = 10) {
    return std::string(Protector::Create(options, values).status().message());
  };
  for (const int neighbours : {-1, 255}) {
    EXPECT_EQ(error({.protection = Protection::kMasked, .mask_neighbours = neighbours}),
              "masks with " + std::to_string(neighbours) +
                  " neighbours at least: expected 0, which is all others, to 254");
  }
  EXPECT_THAT(error({.privacy = {.clip = 1}}), HasSubstr("needs both, or neither"));
  EXPECT_NE(error({.protection = Protection::kSharedKey, .log2_degree = 10}), "");
  const std::string too_small = error({.protection = Protection::kThreshold, .log2_scale = 40});
  EXPECT_THAT(too_small, HasSubstr("threshold keys with scale 2^40"));
  EXPECT_THAT(too_small, HasSubstr("wrong by up to 0.15")) << "as docs/security.md says";
  // Each chunk is decrypted with keys of its round: more of them need more noise.
  const ProtectionOptions tight = {.protection = Protection::kThreshold, .log2_scale = 52};
  EXPECT_EQ(error(tight, 10), "");
  EXPECT_THAT(error(tight, size_t{1} << 32), HasSubstr("in 524289 decryptions"));
}

}  // namespace
}  // namespace dtnn::federation
