#include "comm/secrets/crypto/shamir.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "comm/secrets/crypto/random_secret.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

std::vector<SecretShare> Chosen(const std::vector<SecretShare>& shares, unsigned subset) {
  std::vector<SecretShare> chosen;
  for (size_t i = 0; i < shares.size(); ++i) {
    if (subset >> i & 1) chosen.push_back(shares[i]);
  }
  return chosen;
}

TEST(ShamirTest, EverySubsetThatIsLargeEnoughGivesTheSecretBack) {
  for (int shares = 1; shares <= 6; ++shares) {
    for (int threshold = 1; threshold <= shares; ++threshold) {
      const Secret secret = Must(RandomSecret());
      const std::vector<SecretShare> all = Must(SplitSecret(secret, threshold, shares));
      for (unsigned subset = 0; subset < 1u << shares; ++subset) {
        const auto rebuilt = RebuildSecret(Chosen(all, subset), threshold);
        ASSERT_EQ(rebuilt.ok(), std::popcount(subset) >= threshold);
        if (rebuilt.ok()) {
          ASSERT_TRUE(rebuilt->Equals(secret)) << subset;
        }
      }
    }
  }
}

TEST(ShamirTest, TheOrderOfSharesDoesNotMatter) {
  const Secret secret = Must(RandomSecret());
  std::vector<SecretShare> shares = Must(SplitSecret(secret, 100, kMaxShares));
  std::ranges::reverse(shares);
  EXPECT_TRUE(Must(RebuildSecret(shares, 100)).Equals(secret));
}

TEST(ShamirTest, EveryShareFollowsFromEnoughOthers) {
  const Secret secret = Must(RandomSecret());
  std::vector<SecretShare> shares = Must(SplitSecret(secret, 170, kMaxShares));
  std::ranges::rotate(shares, shares.begin() + 40);
  const SharePolynomials polynomials = Must(SharePolynomials::Through(shares, 170));
  EXPECT_TRUE(polynomials.secret().Equals(secret));
  for (const SecretShare& share : shares) {
    EXPECT_TRUE(polynomials.Share(share.index).Equals(share.value)) << share.index;
  }
  shares[3].value.bytes()[31] ^= 0x80;
  const SharePolynomials wrong = Must(SharePolynomials::Through(shares, 170));
  EXPECT_TRUE(wrong.Share(shares[3].index).Equals(shares[3].value)) << "one of those it is made of";
  EXPECT_TRUE(wrong.Share(shares[4].index).Equals(shares[4].value));
  EXPECT_FALSE(wrong.Share(shares[170].index).Equals(shares[170].value));
}

// One share fewer: whatever the secret, each value of a byte of a share is as likely as another.
TEST(ShamirTest, TooFewSharesSayNothing) {
  for (const auto& [byte, index] : {std::pair(uint8_t{0}, size_t{0}), {0, 1}, {255, 0}, {255, 1}}) {
    std::array<uint8_t, 32> bytes;
    bytes.fill(byte);
    std::array<double, 256> counts{};
    constexpr int kRounds = 400;
    for (int round = 0; round < kRounds; ++round) {
      const std::vector<SecretShare> shares = Must(SplitSecret(Secret(bytes), 2, 2));
      for (const uint8_t b : shares[index].value.bytes()) counts[b] += 1;
    }
    const double expected = kRounds * 32 / 256.0;
    double chi = 0;
    for (const double c : counts) chi += (c - expected) * (c - expected) / expected;
    EXPECT_NEAR(chi, 255, 6 * std::sqrt(2 * 255.0));
  }
}

// The largest number of shares, too, has no two alike: they would be one.
TEST(ShamirTest, NoShareIsTheSecretOrAnother) {
  const Secret secret = Must(RandomSecret());
  std::vector<SecretShare> shares = Must(SplitSecret(secret, 2, kMaxShares));
  ASSERT_EQ(shares.size(), 255u);
  shares.push_back({.index = -1, .value = secret});
  for (size_t i = 0; i < shares.size(); ++i) {
    for (size_t j = 0; j < i; ++j) EXPECT_FALSE(shares[i].value.Equals(shares[j].value));
  }
}

TEST(ShamirTest, AWrongShareGivesAnotherSecret) {
  const Secret secret = Must(RandomSecret());
  std::vector<SecretShare> shares = Must(SplitSecret(secret, 2, 3));
  shares[0].value.bytes()[5] ^= 1;
  EXPECT_FALSE(Must(RebuildSecret(shares, 2)).Equals(secret));
}

TEST(ShamirTest, NonsenseIsRefused) {
  const Secret secret;
  EXPECT_FALSE(SplitSecret(secret, 0, 3).ok());
  EXPECT_FALSE(SplitSecret(secret, 4, 3).ok());
  EXPECT_FALSE(SplitSecret(secret, 4, kMaxShares + 1).ok());
  std::vector<SecretShare> shares = Must(SplitSecret(secret, 2, 3));
  for (const int threshold : {0, 4}) {
    EXPECT_EQ(RebuildSecret(shares, threshold).status().message(),
              "cannot rebuild a secret from 3 shares: needs " + std::to_string(threshold));
  }
  for (const int index : {0, -1, kMaxShares}) {
    shares[1].index = index;
    EXPECT_EQ(RebuildSecret(shares, 2).status().message(), "cannot rebuild a secret: share " +
                                                               std::to_string(index) +
                                                               " comes twice or does not exist");
  }
}

}  // namespace
}  // namespace dtnn
