#include "kernels/amx/tiles.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/amx/amx.h"
#include "kernels/amx/testing/hard_numbers.h"
#include "tensor/philox.h"

namespace dtnn {
namespace {

using testing::Bits;

using Halves = std::array<Bfloat16, kTileRows * kTileBytes / 2>;  // rows of 32
using Sums = std::array<float, kTileRows * kTileBytes / 4>;       // rows of 16

// a: `rows` of `depth`; b: depth / 2 rows of 16 pairs.
template <typename Tiles>
Sums Multiply(int rows, int depth, const Halves& a, const Halves& b, Sums sums) {
  Tiles tiles;
  TileShapes shapes = ProductShapes(depth);
  shapes.Set(0, rows, kTileBytes);
  shapes.Set(4, rows, 2 * depth);
  tiles.Configure(shapes);
  tiles.template Load<0>(sums.data(), kTileBytes);
  tiles.template Load<4>(a.data(), kTileBytes);
  tiles.template Load<6>(b.data(), kTileBytes);
  tiles.template Multiply<0, 4, 6>();
  tiles.template Store<0>(sums.data(), kTileBytes);
  tiles.Release();
  return sums;
}

Halves RandomHalves(int kind, uint64_t seed) {
  Halves halves;
  testing::FillHard(kind, seed, halves);
  return halves;
}
Sums RandomSums(int kind, uint64_t seed) {
  Sums sums;
  testing::FillHardSums(kind, seed, sums);
  return sums;
}

TEST(EmulatedTilesTest, ProductOfIntegersIsTheProductOfTheMatrices) {
  const Philox random(1, StreamId(RandomPurpose::kTest));
  Halves a, b;
  Sums sums;
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = Bfloat16(int(random.Below(3 * i, 9)) - 4);
    b[i] = Bfloat16(int(random.Below(3 * i + 1, 9)) - 4);
  }
  for (size_t i = 0; i < sums.size(); ++i) sums[i] = float(random.Below(3 * i + 2, 100));
  const Sums product = Multiply<EmulatedTiles>(16, 32, a, b, sums);
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 16; ++j) {
      float expected = sums[i * 16 + j];
      for (int k = 0; k < 32; ++k) {
        expected += float(a[i * 32 + k]) * float(b[k / 2 * 32 + 2 * j + k % 2]);
      }
      EXPECT_EQ(product[i * 16 + j], expected) << i << ", " << j;
    }
  }
}

TEST(EmulatedTilesTest, DenormalNumbersCountAsZeroAndNaNStays) {
  Halves a = {}, b = {};
  Sums sums = {};
  a[0] = Bfloat16(1e-39);  // denormal
  b[0] = Bfloat16(1e38);
  a[32] = Bfloat16(1e-20);  // a product that is denormal
  b[2] = Bfloat16(1e-20);
  a[64] = Bfloat16(std::numeric_limits<double>::infinity());
  b[4] = Bfloat16(0);
  sums[3 * 16] = 1e-40f;
  const Sums product = Multiply<EmulatedTiles>(16, 32, a, b, sums);
  EXPECT_EQ(product[0], 0);
  EXPECT_EQ(product[16 + 1], 0);
  EXPECT_TRUE(std::isnan(product[2 * 16 + 2]));
  EXPECT_EQ(product[3 * 16], 0);
}

using Bytes = std::array<uint8_t, kTileRows * kTileBytes>;          // rows of 64
using Integers = std::array<uint32_t, kTileRows * kTileBytes / 4>;  // rows of 16

template <typename Tiles>
Integers MultiplyBytes(int rows, int depth, const Bytes& a, const Bytes& b, Integers sums) {
  Tiles tiles;
  TileShapes shapes = ByteProductShapes(depth);
  shapes.Set(0, rows, kTileBytes);
  shapes.Set(4, rows, depth);
  tiles.Configure(shapes);
  tiles.template Load<0>(sums.data(), kTileBytes);
  tiles.template Load<4>(a.data(), kTileBytes);
  tiles.template Load<6>(b.data(), kTileBytes);
  tiles.template MultiplyBytes<0, 4, 6>();
  tiles.template Store<0>(sums.data(), kTileBytes);
  tiles.Release();
  return sums;
}

template <class Array>
Array RandomBits(uint64_t seed) {
  const Philox random(seed, StreamId(RandomPurpose::kTest));
  Array bits;
  for (size_t i = 0; i < bits.size(); ++i) {
    bits[i] = typename Array::value_type(random.Below(i, 0xffffffff));
  }
  return bits;
}

TEST(EmulatedTilesTest, BytesOfTheFirstOperandHaveNoSignAndSumsWrapAround) {
  Bytes a = {}, b = {};
  Integers sums = {};
  a[0] = 255, a[1] = 200;
  b[4 * 2] = uint8_t(-128), b[4 * 2 + 1] = 127;
  a[64 * 3 + 4] = 2, b[64 + 4 * 5] = 1, sums[3 * 16 + 5] = 0xffffffff;
  const Integers product = MultiplyBytes<EmulatedTiles>(16, 64, a, b, sums);
  EXPECT_EQ(int32_t(product[2]), 255 * -128 + 200 * 127);
  EXPECT_EQ(product[3 * 16 + 5], 1);
}

TEST(EmulatedTilesTest, LoadsAndStoresTouchNothingBeyondTheShape) {
  EmulatedTiles tiles;
  TileShapes shapes;
  shapes.Set(2, 3, 8);
  tiles.Configure(shapes);
  const std::vector<uint8_t> from(2 * 100 + 8, 7);  // exactly three rows, 100 bytes apart
  tiles.Load<2>(from.data(), 100);
  std::vector<uint8_t> to(4 * 10, 1);
  tiles.Store<2>(to.data(), 10);
  for (size_t i = 0; i < to.size(); ++i) {
    EXPECT_EQ(to[i], i < 30 && i % 10 < 8 ? 7 : 1) << i;
  }
}

#ifdef DTNN_HAS_TILES
TEST(HardwareTilesTest, EmulationGivesTheSameBits) {
  if (!AmxRefusal().empty()) GTEST_SKIP() << AmxRefusal();
  uint64_t seed = 0;
  for (int kind = 0; kind < testing::kNumberKinds; ++kind) {
    for (const int rows : {1, 7, 16}) {
      for (const int depth : {2, 4, 6, 14, 16, 18, 30, 32}) {
        for (int round = 0; round < 8; ++round) {
          const Halves a = RandomHalves(kind, ++seed), b = RandomHalves(kind, ++seed);
          const Sums sums = RandomSums(kind, ++seed);
          const Sums hardware = Multiply<HardwareTiles>(rows, depth, a, b, sums);
          const Sums emulated = Multiply<EmulatedTiles>(rows, depth, a, b, sums);
          for (size_t i = 0; i < sums.size(); ++i) {
            ASSERT_EQ(Bits(hardware[i]), Bits(emulated[i]))
                << hardware[i] << " and " << emulated[i] << ": kind " << kind << ", " << rows
                << " rows, depth " << depth << ", element " << i << ", seed " << seed;
          }
        }
      }
    }
  }
}

TEST(HardwareTilesTest, EmulationGivesTheSameSumsOfBytes) {
  if (!AmxInt8Refusal().empty()) GTEST_SKIP() << AmxInt8Refusal();
  uint64_t seed = 0;
  for (const int rows : {1, 7, 16}) {
    for (const int depth : {4, 8, 12, 48, 60, 64}) {
      const Bytes a = RandomBits<Bytes>(++seed), b = RandomBits<Bytes>(++seed);
      const Integers sums = RandomBits<Integers>(++seed);
      EXPECT_EQ(MultiplyBytes<HardwareTiles>(rows, depth, a, b, sums),
                MultiplyBytes<EmulatedTiles>(rows, depth, a, b, sums))
          << rows << " rows, depth " << depth << ", seed " << seed;
    }
  }
}

// Sums that round to the smallest normal number from below, with and without a limit of exponents.
TEST(HardwareTilesTest, EmulationKnowsWhichSumsAreDenormal) {
  if (!AmxRefusal().empty()) GTEST_SKIP() << AmxRefusal();
  int flushed = 0, kept = 0;
  for (int step = 1; step <= 64; ++step) {
    Halves a = {}, b = {};
    a[0] = Bfloat16(0x1p-63f), b[0] = Bfloat16(0x1p-63f);
    a[2] = Bfloat16(-0x1p-75f), b[2 * 16] = Bfloat16(float(step) * 0x1p-79f);
    for (int i = 2; i < 16; ++i) b[size_t(i) * 32] = a[size_t(2 * i)] = Bfloat16(0);
    const Sums hardware = Multiply<HardwareTiles>(16, 32, a, b, {});
    const Sums emulated = Multiply<EmulatedTiles>(16, 32, a, b, {});
    EXPECT_EQ(Bits(hardware[0]), Bits(emulated[0])) << step;
    (hardware[0] == 0 ? flushed : kept)++;
  }
  EXPECT_GT(flushed, 0);
  EXPECT_GT(kept, 0);
}
#endif

}  // namespace
}  // namespace dtnn
