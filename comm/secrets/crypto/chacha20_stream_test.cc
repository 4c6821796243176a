#include "comm/secrets/crypto/chacha20_stream.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

constexpr std::array<uint8_t, 32> kZeros{};

std::vector<uint8_t> Bytes(ChaCha20Stream stream, size_t count) {
  std::vector<uint8_t> bytes(count);
  stream.Fill(bytes);
  return bytes;
}

// RFC 8439, A.1, test vector 1: key and nonce zero, blocks 0 and 1.
TEST(ChaCha20StreamTest, ThePublishedBytes) {
  const std::vector<uint8_t> bytes = Bytes(Must(ChaCha20Stream::Create(kZeros)), 64);
  EXPECT_EQ(absl::BytesToHexString({reinterpret_cast<const char*>(bytes.data()), bytes.size()}),
            "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
            "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586");
}

// RFC 8439, A.1, test vector 5: the last byte of the nonce is 2.
TEST(ChaCha20StreamTest, TheStreamsNumberIsTheEndOfTheNonce) {
  const std::vector<uint8_t> bytes =
      Bytes(Must(ChaCha20Stream::Create(kZeros, uint64_t{2} << 56)), 16);
  EXPECT_EQ(absl::BytesToHexString({reinterpret_cast<const char*>(bytes.data()), bytes.size()}),
            "c2c64d378cd536374ae204b9ef933fcd");
}

TEST(ChaCha20StreamTest, PiecesAreThoseOfOneStream) {
  const std::vector<uint8_t> whole = Bytes(Must(ChaCha20Stream::Create(kZeros, 7)), 3 << 20);
  ChaCha20Stream stream = Must(ChaCha20Stream::Create(kZeros, 7));
  std::vector<uint8_t> pieces(whole.size(), 99);
  size_t at = 0;
  for (size_t size = 1; at < pieces.size(); size = size * 3 + 1) {
    const size_t count = std::min(size, pieces.size() - at);
    stream.Fill(std::span(pieces).subspan(at, count));
    at += count;
  }
  EXPECT_TRUE(pieces == whole);
}

TEST(ChaCha20StreamTest, StreamsAndSeedsDiffer) {
  std::array<uint8_t, 32> seed{};
  const std::vector<uint8_t> a = Bytes(Must(ChaCha20Stream::Create(seed, 0)), 64);
  const std::vector<uint8_t> b = Bytes(Must(ChaCha20Stream::Create(seed, 1)), 64);
  const std::vector<uint8_t> c = Bytes(Must(ChaCha20Stream::Create(seed, uint64_t{1} << 63)), 64);
  seed[31] = 1;
  const std::vector<uint8_t> d = Bytes(Must(ChaCha20Stream::Create(seed, 0)), 64);
  // Every bit of a stream's number counts.
  std::set<std::vector<uint8_t>> different = {a};
  for (int bit = 0; bit < 64; ++bit) {
    different.insert(Bytes(Must(ChaCha20Stream::Create(kZeros, uint64_t{1} << bit)), 64));
  }
  EXPECT_EQ(different.size(), 65u);
  EXPECT_NE(a, b);
  EXPECT_NE(a, c);
  EXPECT_NE(a, d);
  EXPECT_NE(Bytes(Must(ChaCha20Stream::Random()), 64), Bytes(Must(ChaCha20Stream::Random()), 64));
}

}  // namespace
}  // namespace dtnn
