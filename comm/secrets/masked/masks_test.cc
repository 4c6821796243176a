#include "comm/secrets/masked/masks.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "comm/secrets/crypto/chacha20_stream.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn::masked {
namespace {

Secret SecretOf(uint8_t value) {
  Secret secret;
  std::ranges::fill(secret.bytes(), value);
  return secret;
}

// The whole stream in one piece; words are filled several thousand at a time, and added 16 at a
// time.
template <typename Word>
void ExpectStreamAdded() {
  for (const size_t count :
       {size_t{0}, size_t{1}, size_t{15}, size_t{16}, size_t{17}, size_t{33}, size_t{4095},
        size_t{4096}, size_t{4097}, size_t{4111}, size_t{4112}, size_t{4113}, size_t{10000}}) {
    std::vector<Word> before(count), mask(count);
    for (size_t i = 0; i < count; ++i) before[i] = Word(i * 0x9e3779b97f4a7c15u);
    const Secret seed = SecretOf(7);
    Must(ChaCha20Stream::Create(seed.bytes(), 3)).FillWords(std::span(mask));
    for (const Sign sign : {Sign::kPlus, Sign::kMinus}) {
      std::vector<Word> words = before;
      ASSERT_EQ(AddMask(seed, 3, sign, std::span(words)), absl::OkStatus());
      for (size_t i = 0; i < count; ++i) {
        ASSERT_EQ(words[i], Word(sign == Sign::kPlus ? before[i] + mask[i] : before[i] - mask[i]));
      }
      ASSERT_EQ(AddMask(seed, 3, Opposite(sign), std::span(words)), absl::OkStatus());
      EXPECT_EQ(words, before) << "the opposite sign takes it away";
    }
  }
}

TEST(MasksTest, AMaskIsTheStreamOfItsSeedAndChunk) {
  ExpectStreamAdded<uint32_t>();
  ExpectStreamAdded<uint64_t>();
}

TEST(MasksTest, OtherSeedsAndChunksGiveOtherMasks) {
  const auto mask = [](uint8_t seed, uint64_t chunk) {
    std::vector<uint64_t> words(4);
    EXPECT_EQ(AddMask(SecretOf(seed), chunk, Sign::kPlus, std::span(words)), absl::OkStatus());
    return words;
  };
  EXPECT_EQ(mask(1, 0), mask(1, 0));
  EXPECT_NE(mask(1, 0), mask(2, 0));
  EXPECT_NE(mask(1, 0), mask(1, 1));
}

TEST(MasksTest, TheTwoOfAPairAddOppositeSigns) {
  EXPECT_EQ(SignOf(1, 2), Sign::kPlus);
  EXPECT_EQ(SignOf(2, 1), Sign::kMinus);
}

TEST(MasksTest, BothOfAPairAgreeForOnePurposeAndRound) {
  const Secret one = SecretOf(11), other = SecretOf(22);
  const X25519PublicKey of_one = Must(X25519PublicKeyOf(one)),
                        of_other = Must(X25519PublicKeyOf(other));
  const auto bytes = [](const Secret& secret) {
    return std::vector<uint8_t>(secret.bytes().begin(), secret.bytes().end());
  };
  const auto agreed = [&](uint64_t round, std::string_view purpose, int mine, int theirs) {
    return bytes(Must(PairSecret({.round = round}, purpose, mine, one, theirs, of_other)));
  };
  const std::vector<uint8_t> secret = agreed(5, "masks", 3, 8);
  EXPECT_EQ(bytes(Must(PairSecret({.round = 5}, "masks", 8, other, 3, of_one))), secret);
  EXPECT_NE(agreed(6, "masks", 3, 8), secret);
  EXPECT_NE(agreed(5, "shares", 3, 8), secret);
  EXPECT_NE(agreed(5, "masks", 4, 8), secret);
  EXPECT_NE(agreed(5, "masks", 3, 9), secret);
}

TEST(MasksTest, TheHashOfAnOwnMaskIsBoundToItsClientAndRound) {
  const auto hash = [](uint64_t round, int client, uint8_t seed) {
    return Must(HashOfOwnMask({.round = round}, client, SecretOf(seed)));
  };
  EXPECT_EQ(hash(1, 2, 3), hash(1, 2, 3));
  EXPECT_NE(hash(1, 2, 3), hash(2, 2, 3));
  EXPECT_NE(hash(1, 2, 3), hash(1, 3, 3));
  EXPECT_NE(hash(1, 2, 3), hash(1, 2, 4));
}

}  // namespace
}  // namespace dtnn::masked
