#include "comm/secrets/masked/share_search.h"

#include <algorithm>

#include "comm/secrets/crypto/random_secret.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn::masked {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAreArray;

// Each set of liars among these clients, as bits: as many as can be spared are found, one more is
// an error.
TEST(ShareSearchTest, FindsTheSecretAndTheLiarsWhileEnoughSharesAreRight) {
  constexpr int kShares = 6, kThreshold = 4;
  const Secret secret = Must(RandomSecret());
  const std::vector<SecretShare> right = Must(SplitSecret(secret, kThreshold, kShares));
  for (unsigned liars = 0; liars < 1u << kShares; ++liars) {
    std::vector<SecretShare> shares = right;
    std::vector<int> wanted;
    for (int i = 0; i < kShares; ++i) {
      if ((liars >> i & 1) == 0) continue;
      shares[size_t(i)].value.bytes()[size_t(i)] ^= uint8_t(i + 1);
      wanted.push_back(i);
    }
    int tries = 1000;
    const auto is_secret = [&](const Secret& x) { return x.Equals(secret); };
    const absl::StatusOr<Secret> found = FindSecret(shares, kThreshold, is_secret, tries);
    ASSERT_EQ(found.ok(), kShares - int(wanted.size()) >= kThreshold) << liars << found.status();
    if (!found.ok()) {
      EXPECT_EQ(tries, 0) << liars;
      EXPECT_THAT(std::string(found.status().message()),
                  HasSubstr("it is not known which are wrong"));
      continue;
    }
    EXPECT_TRUE(found->Equals(secret)) << liars;
    if (wanted.size() == 2) wanted.clear();  // no third one says which two of them lie
    EXPECT_THAT(Must(WrongShares(shares, kThreshold)), UnorderedElementsAreArray(wanted)) << liars;
  }
}

// Two liars agree on errors that cancel in the secret, so that honest clients would be named.
TEST(ShareSearchTest, LiarsCannotMakeOthersLookLikeLiars) {
  constexpr int kShares = 8, kThreshold = 4;
  const Secret secret = Must(RandomSecret());
  std::vector<SecretShare> shares = Must(SplitSecret(secret, kThreshold, kShares));
  shares[1].value.bytes()[5] ^= 1;
  const uint8_t right = shares[2].value.bytes()[5];
  for (int error = 1; error < 256; ++error) {
    shares[2].value.bytes()[5] = right ^ uint8_t(error);
    if (Must(RebuildSecret(shares, kThreshold)).Equals(secret)) break;
  }
  int tries = 0;
  const auto is_secret = [&](const Secret& x) { return x.Equals(secret); };
  EXPECT_TRUE(Must(FindSecret(shares, kThreshold, is_secret, tries)).Equals(secret));
  EXPECT_THAT(Must(WrongShares(shares, kThreshold)), ::testing::IsEmpty());
  // Where right ones come first, the two are named.
  std::ranges::reverse(shares);
  EXPECT_THAT(Must(WrongShares(shares, kThreshold)), UnorderedElementsAreArray({1, 2}));
}

TEST(ShareSearchTest, WithNoneToSpareNothingIsTried) {
  const Secret secret = Must(RandomSecret());
  std::vector<SecretShare> shares = Must(SplitSecret(secret, 3, 3));
  shares[1].value.bytes()[0] ^= 1;
  int tries = 7;
  const auto is_secret = [&](const Secret& x) { return x.Equals(secret); };
  EXPECT_EQ(FindSecret(shares, 3, is_secret, tries).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(tries, 7);
}

}  // namespace
}  // namespace dtnn::masked
