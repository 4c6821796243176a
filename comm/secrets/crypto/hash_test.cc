#include "comm/secrets/crypto/hash.h"

#include <openssl/evp.h>

#include "absl/strings/escaping.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

std::string Hex(std::span<const uint8_t> bytes) {
  return absl::BytesToHexString({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

TEST(HashTest, Sha256OfThePublishedMessage) {
  const std::string wanted = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  EXPECT_EQ(Hex(Must(Sha256({AsBytes("abc")}))), wanted);
  EXPECT_EQ(Hex(Must(Sha256({AsBytes("a"), {}, AsBytes("bc")}))), wanted);
}

// RFC 4231, test cases 2 and 6: a key shorter than a block of SHA-256, and one longer.
TEST(HashTest, HmacOfThePublishedMessages) {
  const std::string wanted = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
  EXPECT_EQ(Hex(Must(Hmac(AsBytes("Jefe"), {AsBytes("what do ya want for nothing?")}))), wanted);
  EXPECT_EQ(
      Hex(Must(Hmac(AsBytes("Jefe"), {AsBytes("what do ya "), {}, AsBytes("want for nothing?")}))),
      wanted);
  const std::vector<uint8_t> key(131, 0xaa);
  EXPECT_EQ(
      Hex(Must(Hmac(key, {AsBytes("Test Using Larger Than Block-Size Key - Hash Key First")}))),
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

// Where SHA-256 cannot be had, nobody gets a hash of zeros.
TEST(HashTest, WhatOpenSslCannotComputeIsAnError) {
  ASSERT_EQ(EVP_set_default_properties(nullptr, "provider=none"), 1);
  EXPECT_FALSE(Hmac(AsBytes("key"), {AsBytes("message")}).ok());
  EXPECT_FALSE(Sha256({AsBytes("message")}).ok());
  EXPECT_FALSE(DeriveSecret(Secret(), "purpose").ok());
  ASSERT_EQ(EVP_set_default_properties(nullptr, ""), 1);
  EXPECT_TRUE(Sha256({AsBytes("message")}).ok());
}

// Bytes 0 to 31 as the secret, "purpose", zero, "context" as the information, computed with
// Python's hmac module.
TEST(HashTest, DerivedSecretsAreThoseOfHkdf) {
  Secret secret;
  for (size_t i = 0; i < Secret::kSize; ++i) secret.bytes()[i] = uint8_t(i);
  EXPECT_EQ(Hex(Must(DeriveSecret(secret, "purpose", AsBytes("context"))).bytes()),
            "b42c2add419682d2277e3280d7d810290f51418ea6df330df360c557d8ecb8de");
}

TEST(HashTest, PurposeAndContextDoNotRunTogether) {
  const Secret secret;
  EXPECT_FALSE(Must(DeriveSecret(secret, "ab", AsBytes("c")))
                   .Equals(Must(DeriveSecret(secret, "a", AsBytes("bc")))));
  EXPECT_FALSE(Must(DeriveSecret(secret, "ab")).Equals(Must(DeriveSecret(secret, "a"))));
}

}  // namespace
}  // namespace dtnn
