#include "data/images/image_channels.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

using Bytes = std::vector<uint8_t>;

// Two pixels, beside each other.
Image Pair(const Bytes& pixels) {
  return {.extents = {1, 2, int64_t(pixels.size()) / 2}, .pixels = pixels};
}

TEST(ImageChannelsTest, AlphaIsDroppedAndGreyIsThreeTimesTheSame) {
  const Bytes grey = {10, 20}, colours = {10, 11, 12, 20, 21, 22};
  const Bytes thrice = {10, 10, 10, 20, 20, 20};
  const auto of = [](const Bytes& pixels, int64_t channels) {
    const auto made = WithChannels(Pair(pixels), channels);
    EXPECT_TRUE(made.ok()) << made.status();
    EXPECT_EQ(made->extents, (ImageExtents{1, 2, channels}));
    return made->pixels;
  };
  EXPECT_EQ(of(grey, 1), grey);
  EXPECT_EQ(of(grey, 3), thrice);
  EXPECT_EQ(of({10, 0, 20, 255}, 1), grey);
  EXPECT_EQ(of({10, 0, 20, 255}, 3), thrice);
  EXPECT_EQ(of(colours, 3), colours);
  EXPECT_EQ(of({10, 11, 12, 0, 20, 21, 22, 255}, 3), colours);
}

TEST(ImageChannelsTest, ColoursBecomeGreyByLuma) {
  const Bytes grey = {uint8_t((299 * 200 + 587 * 100 + 114 * 50 + 500) / 1000), 255};
  EXPECT_EQ(WithChannels(Pair({200, 100, 50, 255, 255, 255}), 1)->pixels, grey);
  EXPECT_EQ(WithChannels(Pair({200, 100, 50, 0, 255, 255, 255, 9}), 1)->pixels, grey);
}

TEST(ImageChannelsTest, OtherChannelsAreNoImages) {
  EXPECT_EQ(WithChannels(Pair(Bytes(10)), 3).status().message(),
            "an image of 5 channels; expected 1 (grey), 3 (red, green, blue), or 2 or 4 (with "
            "alpha)");
  EXPECT_FALSE(WithChannels({}, 1).ok());
}

}  // namespace
}  // namespace dtnn
