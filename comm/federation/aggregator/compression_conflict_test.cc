#include "comm/federation/aggregator/compression_conflict.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn::federation {
namespace {

using ::testing::StartsWith;

constexpr Compression kInt8 = {.kind = CompressionKind::kInt8};
constexpr Compression kTopK = {.kind = CompressionKind::kTopK, .fraction = 0.1};

std::string Error(const Compression& compression, const UpdateUse& use) {
  return std::string(CheckCompression(compression, use).message());
}

TEST(CompressionConflictTest, UpdatesThatAreReadOneByOneCanBeCompressed) {
  for (const Compression& compression : {Compression(), kInt8, kTopK}) {
    EXPECT_EQ(Error(compression, {}), "");
    EXPECT_EQ(Error(compression, {.strategy = {.strategy = Strategy::kFedadam}}), "");
    EXPECT_EQ(Error(compression, {.strategy = {.strategy = Strategy::kFednova}}), "");
  }
  EXPECT_EQ(Error(kInt8, {.robust = true}), "");
  EXPECT_EQ(Error(kInt8, {.buffered = true}), "");
  EXPECT_EQ(Error(kInt8, {.bounds_norms = true}), "");
  EXPECT_EQ(Error(kInt8, {.has_parent = true}), "");
}

TEST(CompressionConflictTest, WhatDoesNotGoWithThemIsNamed) {
  for (const Protection protection :
       {Protection::kMasked, Protection::kSharedKey, Protection::kThreshold}) {
    const UpdateUse use = {.protection = {.protection = protection}};
    EXPECT_THAT(Error(kInt8, use), StartsWith("compressed updates: not with encryption: "));
    EXPECT_EQ(Error({}, use), "");
  }
  UpdateUse noisy;
  noisy.protection.privacy = {.clip = 1, .noise = 1};
  EXPECT_THAT(Error(kInt8, noisy),
              StartsWith("compressed updates: not with differential privacy: noise is added last"));
  EXPECT_THAT(Error(kInt8, {.strategy = {.strategy = Strategy::kScaffold}}),
              StartsWith("compressed updates: not with strategy scaffold: "));
  EXPECT_THAT(Error(kTopK, {.robust = true}), StartsWith("top-k updates: not with robust means: "));
  EXPECT_THAT(Error(kTopK, {.buffered = true}),
              StartsWith("top-k updates: not with rounds that do not wait: "));
  EXPECT_THAT(Error(kTopK, {.bounds_norms = true}),
              StartsWith("top-k updates: not with a bound of norms: an update that is refused"));
  EXPECT_THAT(Error(kTopK, {.has_parent = true}), StartsWith("top-k updates: not with a parent: "));
}

TEST(CompressionConflictTest, FractionsHaveLimits) {
  for (const double fraction : {0.0, -0.1, 0.51}) {
    EXPECT_THAT(Error({.kind = CompressionKind::kTopK, .fraction = fraction}, {}),
                StartsWith("compressed updates: a fraction of "));
  }
}

}  // namespace
}  // namespace dtnn::federation
