#include "comm/secrets/crypto/ed25519.h"

#include "absl/strings/escaping.h"
#include "comm/secrets/crypto/random_secret.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;

constexpr uint8_t kMessage[] = {'t', 'h', 'e', ' ', 'm', 'e', 's', 's', 'a', 'g', 'e'};

std::string Hex(std::span<const uint8_t> bytes) {
  return absl::BytesToHexString({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// Bytes 0, 1, ...
Secret Counting() {
  Secret secret;
  for (size_t i = 0; i < Secret::kSize; ++i) secret.bytes()[i] = uint8_t(i);
  return secret;
}

// As `openssl pkey -pubout` and `openssl pkeyutl -sign -rawin` print them.
TEST(Ed25519Test, KeysAndSignaturesAreThoseOfOpenssl) {
  const Ed25519PublicKey key = Must(Ed25519PublicKeyOf(Counting()));
  EXPECT_EQ(Hex(key), "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8");
  EXPECT_EQ(ToText(key), "A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=");
  EXPECT_EQ(Must(Ed25519PublicKeyFromText(ToText(key))), key);
  const Ed25519Signature signature = Must(Ed25519Sign(Counting(), kMessage));
  EXPECT_EQ(Hex(signature),
            "69db6d35f083f9ca5de3c8f12aee1f90eec810f55d8c30088932e5ef6b8aa212"
            "e3c3211a2965e32cfce2fdae4181bbe66a4e3351bcee89bff40cff7a9c889806");
  EXPECT_TRUE(Must(Ed25519Verifies(key, kMessage, signature)));
}

TEST(Ed25519Test, AnyOtherBitProvesNothing) {
  const Secret secret = Must(RandomSecret());
  const Ed25519PublicKey key = Must(Ed25519PublicKeyOf(secret));
  EXPECT_EQ(CheckEd25519PublicKey(key), absl::OkStatus());
  const Ed25519Signature good = Must(Ed25519Sign(secret, kMessage));
  for (size_t bit = 0; bit < 8 * good.size(); bit += 5) {
    Ed25519Signature wrong = good;
    wrong[bit / 8] ^= uint8_t(1 << (bit % 8));
    EXPECT_FALSE(Must(Ed25519Verifies(key, kMessage, wrong))) << bit;
  }
  EXPECT_FALSE(Must(Ed25519Verifies(key, std::span(kMessage).first(4), good)));
  EXPECT_FALSE(Must(Ed25519Verifies(Must(Ed25519PublicKeyOf(Counting())), kMessage, good)));
  EXPECT_FALSE(Must(Ed25519Verifies(key, kMessage, Ed25519Signature{})));
}

// Found in Python's integers: the curve has points with y = 3, 4, 5, 6, none with y = 2, 7, 8.
TEST(Ed25519Test, OnlyPointsOfTheCurveAreKeys) {
  const auto key_of = [](uint8_t y) { return Ed25519PublicKey{y}; };
  for (const uint8_t y : {3, 4, 5, 6, 9, 10, 14}) {
    EXPECT_EQ(CheckEd25519PublicKey(key_of(y)), absl::OkStatus()) << int{y};
  }
  for (const uint8_t y : {2, 7, 8, 11, 12, 13, 17}) {
    EXPECT_THAT(std::string(CheckEd25519PublicKey(key_of(y)).message()),
                HasSubstr("no point of its curve"))
        << int{y};
  }
  // p + 3, another encoding of 3.
  Ed25519PublicKey more;
  more.fill(0xff);
  more.front() = 0xf0;
  more.back() = 0x7f;
  EXPECT_FALSE(CheckEd25519PublicKey(more).ok());
}

// The multiples of the group's odd order of 400 random points, in Python's integers.
TEST(Ed25519Test, PointsOfSmallOrderAreRefused) {
  for (const char* hex : {"0000000000000000000000000000000000000000000000000000000000000000",
                          "0100000000000000000000000000000000000000000000000000000000000000",
                          "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
                          "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
                          "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"}) {
    const std::string bytes = absl::HexStringToBytes(hex);
    Ed25519PublicKey key;
    std::ranges::copy(bytes, key.begin());
    for (const int sign : {0, 0x80}) {
      key.back() = uint8_t((key.back() & 0x7f) | sign);
      EXPECT_THAT(std::string(CheckEd25519PublicKey(key).message()), HasSubstr("small order"))
          << hex;
    }
  }
}

TEST(Ed25519Test, OtherTextIsNotAKey) {
  const std::string good = "A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=";
  const std::vector<std::string> wrongs = {"",
                                           good + "=",
                                           good.substr(0, 43),
                                           good.substr(1) + "=",
                                           " " + good.substr(1),
                                           "A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbh=",
                                           std::string(44, '!'),
                                           std::string(42, 'A') + "==",
                                           "A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg="};
  for (const std::string& wrong : wrongs) {
    const absl::Status status = Ed25519PublicKeyFromText(wrong).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << wrong;
    EXPECT_THAT(std::string(status.message()), HasSubstr("is not the 44 characters in base64"))
        << wrong;
  }
  EXPECT_THAT(std::string(Ed25519PublicKeyFromText(std::string(43, 'A') + "=").status().message()),
              HasSubstr("small order"));
}

}  // namespace
}  // namespace dtnn
