#include "kernels/int8/block_order.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "gtest/gtest.h"

namespace dtnn::int8 {
namespace {

Conv2dSpec SpecOf(int64_t extent, int64_t channels, int64_t kernel) {
  Conv2dSpec spec;
  spec.batch = 64;
  spec.height = spec.width = extent;
  spec.channels = spec.filters = channels;
  spec.kernel = kernel;
  spec.padding = kernel / 2;
  return spec;
}

BlockOrder OrderOf(const Conv2dSpec& spec, const ProductKernel& kernel, bool skips_padding,
                   int64_t images) {
  return ChooseBlockOrder(spec, ImageRows(spec, kernel), kernel, skips_padding, images);
}

constexpr ProductKernel kVectors = {.rows = 12, .fewer_rows = true};
constexpr ProductKernel kTiles = {.rows = 32, .tap_bytes = kMostDepth, .speed = 8};

TEST(BlockOrderTest, SmallMapsOfManyImagesAreInterleaved) {
  for (const int64_t extent : {1, 2, 4, 8}) {
    EXPECT_EQ(OrderOf(SpecOf(extent, 256, 3), kVectors, true, 64), BlockOrder::kInterleaved);
  }
  EXPECT_EQ(OrderOf(SpecOf(2, 256, 3), kTiles, true, 64), BlockOrder::kInterleaved);
}

TEST(BlockOrderTest, LargeMapsAndSingleImagesAreNotInterleaved) {
  EXPECT_EQ(OrderOf(SpecOf(32, 16, 3), kVectors, true, 64), BlockOrder::kRows);
  EXPECT_EQ(OrderOf(SpecOf(8, 256, 3), kVectors, true, 1), BlockOrder::kRows);
  EXPECT_EQ(OrderOf(SpecOf(56, 64, 3), kTiles, true, 64), BlockOrder::kRunOn);
  EXPECT_EQ(OrderOf(SpecOf(8, 256, 3), kTiles, true, 1), BlockOrder::kRunOn);
}

// Taps of few bytes fill a step of a tile together, so that images cannot lie between them.
TEST(BlockOrderTest, TapsThatAreReadTogetherAreNotInterleaved) {
  EXPECT_NE(OrderOf(SpecOf(2, 48, 3), kTiles, true, 64), BlockOrder::kInterleaved);
  EXPECT_EQ(OrderOf(SpecOf(2, 48, 3), kVectors, true, 64), BlockOrder::kInterleaved);
}

TEST(BlockOrderTest, BlocksOfAKernelThatTakesFewerRowsAreAlike) {
  for (const int64_t pixels : {1, 12, 13, 25, 64, 100}) {
    int64_t left = pixels, most = 0, least = 12;
    for (; left > 0; left -= NextRows(kVectors, left)) {
      most = std::max(most, NextRows(kVectors, left));
      least = std::min(least, NextRows(kVectors, left));
    }
    EXPECT_EQ(left, 0);
    EXPECT_LE(most, 12);
    EXPECT_LE(most - least, 1) << pixels;
  }
  EXPECT_EQ(NextRows(kTiles, 33), 32);
  EXPECT_EQ(NextRows(kTiles, 1), 1);
}

// Against a loop over all taps.
TEST(ImageRowsTest, TapsInsideAreThoseThatReadTheImage) {
  for (const int64_t stride : {1, 2, 3}) {
    for (const int64_t dilation : {1, 2, 5}) {
      for (const int64_t padding : {0, 1, 2, 7}) {
        Conv2dSpec spec = SpecOf(6, 4, 3);
        spec.stride = stride, spec.dilation = dilation, spec.padding = padding;
        if (!spec.Validate().ok()) continue;
        const ImageRows rows(spec, kVectors);
        for (int64_t at = 0; at < spec.out_height(); ++at) {
          std::vector<int64_t> expected, found;
          for (int64_t tap = 0; tap < 3; ++tap) {
            const int64_t reads = at * stride + tap * dilation - padding;
            if (reads >= 0 && reads < 6) expected.push_back(tap);
          }
          const Taps taps = rows.TapsInside(at, at);
          EXPECT_EQ(taps.y, taps.x);
          EXPECT_EQ(taps.y_end, taps.x_end);
          for (int64_t tap = taps.y; tap < taps.y_end; ++tap) found.push_back(tap);
          EXPECT_EQ(found, expected) << spec.ToString() << ", result " << at;
          std::vector<Step> steps(size_t(rows.step_count()));
          EXPECT_EQ(rows.Steps(1, 1, false, taps, steps.data()),
                    int64_t(expected.size() * expected.size()));
          EXPECT_EQ(rows.TapsInside(at, std::nullopt).x_end, 3);
        }
      }
    }
  }
}

}  // namespace
}  // namespace dtnn::int8
