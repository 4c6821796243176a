#include "comm/secrets/crypto/x25519.h"

#include "absl/strings/escaping.h"
#include "comm/secrets/crypto/random_secret.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

std::string Hex(std::span<const uint8_t> bytes) {
  return absl::BytesToHexString({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// Bytes first, first + 1, ...
Secret Counting(int first) {
  Secret secret;
  for (size_t i = 0; i < Secret::kSize; ++i) secret.bytes()[i] = uint8_t(size_t(first) + i);
  return secret;
}

// Computed with the formulas of RFC 7748 in Python's integers.
TEST(X25519Test, KeysAreThoseOfTheFormulas) {
  const Secret a = Counting(0), b = Counting(100);
  const X25519PublicKey public_a = Must(X25519PublicKeyOf(a));
  const X25519PublicKey public_b = Must(X25519PublicKeyOf(b));
  EXPECT_EQ(Hex(public_a), "8f40c5adb68f25624ae5b214ea767a6ec94d829d3d7b5e1ad1ba6f3e2138285f");
  EXPECT_EQ(Hex(public_b), "7d9c24316539825c1896e57f28197746793ce60cbee3ad47da9d07b85fa55e2a");
  const std::string agreed = "3ae143fb898911b4591769dc17ca01775cc4cad4d05b8f33a39c79e30fa63a72";
  EXPECT_EQ(Hex(Must(X25519Agree(a, public_b)).bytes()), agreed);
  EXPECT_EQ(Hex(Must(X25519Agree(b, public_a)).bytes()), agreed);
}

TEST(X25519Test, OthersAgreeOnSomethingElse) {
  const Secret a = Must(RandomSecret()), b = Must(RandomSecret()), c = Must(RandomSecret());
  const X25519PublicKey to_b = Must(X25519PublicKeyOf(b));
  EXPECT_FALSE(Must(X25519Agree(a, to_b)).Equals(Must(X25519Agree(c, to_b))));
}

// With points of small order everybody would agree on zeros.
TEST(X25519Test, PointsOfSmallOrderAreRefused) {
  X25519PublicKey point{};
  EXPECT_EQ(X25519Agree(Must(RandomSecret()), point).status().code(),
            absl::StatusCode::kInvalidArgument);
  point[0] = 1;
  EXPECT_FALSE(X25519Agree(Must(RandomSecret()), point).ok());
}

}  // namespace
}  // namespace dtnn
