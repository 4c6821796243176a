#include "layers/channels/channel_slice.h"

#include <string>

#include "gtest/gtest.h"
#include "layers/testing/gradient_check.h"

namespace dtnn {
namespace {

using ::dtnn::testing::CheckGradients;

class ChannelSliceLayerTest : public ::testing::TestWithParam<TensorFormat> {
 protected:
  Shape Sample(int64_t h, int64_t w, int64_t c) { return SampleShape({h, w, c}, GetParam()); }
  std::string Refusal(int64_t begin, int64_t count, const Shape& input) {
    return std::string(
        ChannelSliceLayer(begin, count).OutputShape({&input, 1}, GetParam()).status().message());
  }
};
INSTANTIATE_TEST_SUITE_P(Formats, ChannelSliceLayerTest,
                         ::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW));

TEST_P(ChannelSliceLayerTest, Gradients) {
  EXPECT_TRUE(CheckGradients(ChannelSliceLayer(0, 3), {Sample(2, 3, 5)}, GetParam()));
  EXPECT_TRUE(CheckGradients(ChannelSliceLayer(1, 3), {Sample(2, 3, 5)}, GetParam()));
  EXPECT_TRUE(CheckGradients(ChannelSliceLayer(0, 5), {Sample(2, 3, 5)}, GetParam()));
}

TEST_P(ChannelSliceLayerTest, TheOutputHasTheChannelsAskedFor) {
  const Shape image = Sample(4, 5, 6);
  EXPECT_EQ(*ChannelSliceLayer(4, 2).OutputShape({&image, 1}, GetParam()), Sample(4, 5, 2));
  EXPECT_EQ(ChannelSliceLayer(4, 2).SettingsCell(), "channels 4 to 5");
}

TEST_P(ChannelSliceLayerTest, SaysWhatItRefuses) {
  EXPECT_EQ(Refusal(5, 2, Sample(2, 2, 6)),
            "channel pick: 2 channels from channel 5 on are not in an image of 6");
  EXPECT_EQ(Refusal(-1, 2, Sample(2, 2, 6)),
            "channel pick: 2 channels from channel -1 on are not in an image of 6");
  EXPECT_EQ(Refusal(0, -1, Sample(2, 2, 6)), "count is -1, expected at least 1");
  EXPECT_NE(Refusal(0, 1, Shape{10}), "");
}

}  // namespace
}  // namespace dtnn
