#include "comm/crypto/hash.h"

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
