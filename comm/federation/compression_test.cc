#include "comm/federation/compression.h"

#include <cmath>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn::federation {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(CompressionTest, WordsAreRead) {
  EXPECT_FALSE(Must(ParseCompression("none")).on());
  EXPECT_EQ(Must(ParseCompression("bf16")).kind, CompressionKind::kBfloat16);
  EXPECT_EQ(Must(ParseCompression("fp16")).kind, CompressionKind::kFloat16);
  EXPECT_EQ(Must(ParseCompression("int8")).kind, CompressionKind::kInt8);
  EXPECT_EQ(Must(ParseCompression("top-k:0.25")),
            (Compression{.kind = CompressionKind::kTopK, .fraction = 0.25}));
  for (const char* text : {"", "fp32", "int8:1", "top-k", "top-k:", "top-k:0", "top-k:-1",
                           "top-k:0.51", "top-k:nan", "top-k:0.1x"}) {
    EXPECT_THAT(std::string(ParseCompression(text).status().message()),
                HasSubstr(": expected none, bf16, fp16, int8 or top-k:FRACTION"))
        << text;
  }
}

Compression TopK(double fraction) { return {.kind = CompressionKind::kTopK, .fraction = fraction}; }

TEST(CompressionTest, TheLargestAreSelectedOfEqualOnesTheFirst) {
  std::vector<float> numbers = {1, -3, 2, -2, 0, 2, 99, 98};  // the last two are not trained
  Select(TopK(0.5), 6, numbers);
  EXPECT_THAT(numbers, ElementsAre(0, -3, 2, -2, 0, 0, 99, 98));
  std::vector<float> few = {0.5f, -1, 0.25f};
  Select(TopK(0.01), 3, few);
  EXPECT_THAT(few, ElementsAre(0, -1, 0)) << "one at least";
  std::vector<float> zeros(3);
  Select(TopK(0.5), 3, zeros);
  EXPECT_EQ(zeros, std::vector<float>(3));
  std::vector<float> broken = {1e30f, NAN, INFINITY, 1};
  Select(TopK(0.25), 4, broken);
  EXPECT_TRUE(std::isnan(broken[1])) << "it is sent, and so refused";
}

TEST(CompressionTest, WhatIsNotSentIsOwed) {
  const std::vector<float> difference = {1, -3, 2, -2, 0, 2, 99};
  EXPECT_THAT(Owed(TopK(0.5), 6, difference), ElementsAre(1, 0, 0, 0, 0, 2));
}

TEST(CompressionTest, RunningStatisticsAreExact) {
  const std::vector<float> difference = {0.1f, -0.3f, 0.2f, 1.1f, 0.001f};
  for (const Compression& compression :
       {Compression{CompressionKind::kBfloat16}, Compression{CompressionKind::kFloat16},
        Compression{CompressionKind::kInt8}, TopK(0.4)}) {
    const std::vector<float> read = Must(SendAndRead(compression, 4, 3, Philox(1, 2), difference));
    for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(read[i], difference[i], i < 2 ? 0.11 : 0.21) << i;
    EXPECT_NE(read, difference);
    EXPECT_EQ(read[3], difference[3]);
    EXPECT_EQ(read[4], difference[4]);
  }
}

TEST(CompressionTest, WhatCannotBeSentIsRefused) {
  for (const float bad : {NAN, INFINITY, 1e6f}) {
    const absl::Status status =
        SendAndRead({CompressionKind::kFloat16}, 4, 2, Philox(1, 2), {1, bad}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << bad;
  }
  EXPECT_FALSE(SendAndRead(TopK(0.5), 4, 4, Philox(1, 2), {1, 2, 3, NAN}).ok());
}

TEST(CompressionTest, BeginningAndFactorMakeAnUpdate) {
  std::vector<float> update = {0.5f, -1, 4};
  AddBegin(std::vector<float>{1, 2, 100}, 2, 0.25, update);
  EXPECT_THAT(update, ElementsAre(0.375f, 0.25f, 1)) << "statistics come whole";
}

TEST(CompressionTest, RoundingIsOfTheSeedTheClientAndTheRound) {
  const auto first = [](uint64_t seed, std::string_view client, int64_t round) {
    return Must(RoundingOf(seed, client, round)).Bits(0);
  };
  EXPECT_EQ(first(1, "a", 1), first(1, "a", 1));
  EXPECT_NE(first(1, "a", 1), first(2, "a", 1));
  EXPECT_NE(first(1, "a", 1), first(1, "b", 1));
  EXPECT_NE(first(1, "a", 1), first(1, "a", 2));
}

}  // namespace
}  // namespace dtnn::federation
