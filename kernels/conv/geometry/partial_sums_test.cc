#include "kernels/conv/geometry/partial_sums.h"

#include <cstddef>
#include <cstdint>

#include "gtest/gtest.h"

namespace dtnn::conv {
namespace {

// 3 x 3 taps of 64 channels and 64 filters: 147456 bytes of float32.
Conv2dSpec Spec(int64_t batch, int64_t side) {
  Conv2dSpec spec;
  spec.batch = batch;
  spec.height = spec.width = side;
  spec.channels = spec.filters = 64;
  spec.kernel = {3, 3};
  spec.padding = {1, 1};
  return spec;
}

template <typename T>
int64_t Parts(int64_t batch, int64_t side, int64_t least, int64_t pitch = 64) {
  return PartialSums<T>(Spec(batch, side), pitch, least).parts();
}

// So many decide the rounding of every gradient.
TEST(PartialSumsTest, PartsFollowThePixelsUpToTwoMebibytes) {
  EXPECT_EQ(Parts<float>(1, 10, 25), 4);
  EXPECT_EQ(Parts<float>(3, 10, 25), 12) << "of the whole batch";
  EXPECT_EQ(Parts<float>(1, 10, 34), 3);
  EXPECT_EQ(Parts<float>(1, 10, 33), 4) << "the last has fewer";
  EXPECT_EQ(Parts<float>(1, 10, 100), 1);
  EXPECT_EQ(Parts<float>(1, 10, 1000), 1);
  EXPECT_EQ(Parts<float>(1, 100, 25), 14) << "2 MiB";
  EXPECT_EQ(Parts<double>(1, 100, 25), 7);
  EXPECT_EQ(Parts<float>(1, 100, 25, /*pitch=*/128), 7);
  EXPECT_EQ(Parts<float>(1, 100, 25, /*pitch=*/1 << 14), 1) << "more than 2 MiB each";
}

TEST(PartialSumsTest, ThereAreSixteenPartsAtMost) {
  Conv2dSpec spec = Spec(1, 100);
  spec.channels = 1;
  EXPECT_EQ(PartialSums<float>(spec, 64, 25).parts(), 16);
  EXPECT_EQ(PartialSums<float>(spec, 64, 10000 / 16).parts(), 16);
  EXPECT_EQ(PartialSums<float>(spec, 64, 10000 / 15 + 1).parts(), 15);
}

// A matrix and a vector each, in whole cache lines.
TEST(PartialSumsTest, BytesAreThoseOfAllParts) {
  const PartialSums<float> sums(Spec(1, 10), 64, 25);
  EXPECT_EQ(sums.bytes(), size_t{4 * (9 * 64 + 1) * 64 * 4});
  std::byte* const memory = nullptr;
  EXPECT_EQ(reinterpret_cast<std::byte*>(sums.filter(memory, 3)) - memory, 3 * 9 * 64 * 64 * 4);
  EXPECT_EQ(reinterpret_cast<std::byte*>(sums.bias(memory, 3)) - memory,
            4 * 9 * 64 * 64 * 4 + 3 * 64 * 4);
  Conv2dSpec odd = Spec(1, 10);
  odd.channels = 1;
  EXPECT_EQ(PartialSums<float>(odd, 3, 1000).bytes() % 64, 0u);
}

TEST(PartialSumsTest, EveryPixelIsInOnePart) {
  const PartialSums<float> sums(Spec(3, 10), 64, 25);
  EXPECT_EQ(sums.Begin(301, 0), 0);
  EXPECT_EQ(sums.Begin(301, 12), 301);
  for (int64_t part = 0; part < 12; ++part) {
    const int64_t pixels = sums.Begin(301, part + 1) - sums.Begin(301, part);
    EXPECT_TRUE(pixels == 25 || pixels == 26) << part;
  }
}

}  // namespace
}  // namespace dtnn::conv
