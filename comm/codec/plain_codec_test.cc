#include "comm/codec/plain_codec.h"

#include <bit>
#include <cmath>
#include <random>

#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn::codec {
namespace {

// The value of 5 exponent and 10 fraction bits, by the definition.
double Float16ByDefinition(uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == 31) return fraction == 0 ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

TEST(PlainCodecTest, EveryFloat16ThereAndBack) {
  for (uint32_t bits = 0; bits < 1 << 16; ++bits) {
    const float x = FromFloat16(uint16_t(bits));
    const double wanted = Float16ByDefinition(uint16_t(bits));
    if (std::isnan(wanted)) {
      ASSERT_TRUE(std::isnan(x)) << bits;
      ASSERT_TRUE(std::isnan(FromFloat16(ToFloat16(x)))) << bits;
    } else {
      ASSERT_EQ(double(x), wanted) << bits;
      ASSERT_EQ(ToFloat16(x), bits);
    }
  }
}

// Between two neighbours: to the nearer one, from the middle to the even one.
TEST(PlainCodecTest, Float16IsRoundedToTheNearest) {
  for (uint32_t bits = 0; bits < 0x7bff; ++bits) {
    const float low = FromFloat16(uint16_t(bits)), high = FromFloat16(uint16_t(bits + 1));
    const float middle = low + (high - low) / 2;
    ASSERT_EQ(ToFloat16(std::nextafter(middle, low)), bits);
    ASSERT_EQ(ToFloat16(std::nextafter(middle, high)), bits + 1);
    ASSERT_EQ(ToFloat16(middle), bits + bits % 2);
    ASSERT_EQ(ToFloat16(-middle), (bits + bits % 2) | 0x8000);
  }
  EXPECT_EQ(ToFloat16(65504), 0x7bff);
  EXPECT_EQ(ToFloat16(65519.99f), 0x7bff);
  EXPECT_EQ(ToFloat16(65520), 0x7c00);
  EXPECT_EQ(ToFloat16(-1e30f), 0xfc00);
}

TEST(PlainCodecTest, Bfloat16IsTheUpperHalfRounded) {
  std::mt19937 random(8);
  for (int i = 0; i < 100000; ++i) {
    const float x = std::bit_cast<float>(uint32_t(random()));
    const uint16_t bits = ToBfloat16(x);
    if (std::isnan(x)) {
      ASSERT_TRUE(std::isnan(FromBfloat16(bits)));
      continue;
    }
    const float rounded = FromBfloat16(bits);
    if (std::isinf(rounded)) continue;
    // As near as any other: neighbours differ by 2^-7 of the power of two below.
    const double unit = std::ldexp(1.0, std::max(std::ilogb(x), -126) - 7);
    ASSERT_LE(std::abs(double(rounded) - double(x)), unit / 2) << x;
  }
  EXPECT_EQ(ToBfloat16(std::bit_cast<float>(0x3f808000u)), 0x3f80);  // middle, to even
  EXPECT_EQ(ToBfloat16(std::bit_cast<float>(0x3f818000u)), 0x3f82);
  EXPECT_TRUE(std::isnan(FromBfloat16(ToBfloat16(std::bit_cast<float>(0x7f800001u)))));
}

TEST(PlainCodecTest, NumbersThatAreNoneAreRefused) {
  for (const WireType type : {WireType::kFloat32, WireType::kFloat16, WireType::kBfloat16}) {
    const auto client = Must(PlainClient(type, 4));
    const auto server = Must(PlainServer(type, 4));
    const auto sum = Must(server->NewSum({}, 1));
    for (const float bad : {NAN, INFINITY, -INFINITY}) {
      EXPECT_EQ(client->Encode({}, std::span(&bad, 1)).status().code(),
                absl::StatusCode::kInvalidArgument);
    }
    // From a client that does not care.
    const Bytes body(client->description().most_bytes / 4, 0xff);
    EXPECT_EQ(sum->Add(0, body).code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(sum->Add(0, std::span(body).first(1)).code(), absl::StatusCode::kDataLoss);
    float zero = 1;
    Must(client->Decode({}, Must(sum->Result()), std::span(&zero, 1)));
    EXPECT_EQ(zero, 0) << "what was refused was not added";
  }
  const float large = 70000;
  EXPECT_FALSE(Must(PlainClient(WireType::kFloat16, 4))->Encode({}, std::span(&large, 1)).ok());
  EXPECT_EQ(PlainClient(WireType::kFloat16, 0).status().message(),
            "codec fp16: chunk_values is 0; a chunk must have at least one number");
}

}  // namespace
}  // namespace dtnn::codec
