#include "layers/channels/channel_shuffle.h"

#include <string>

#include "gtest/gtest.h"
#include "layers/testing/gradient_check.h"

namespace dtnn {
namespace {

using ::dtnn::testing::CheckGradients;

class ChannelShuffleLayerTest : public ::testing::TestWithParam<TensorFormat> {
 protected:
  Shape Sample(int64_t h, int64_t w, int64_t c) { return SampleShape({h, w, c}, GetParam()); }
  std::string Refusal(int64_t groups, const Shape& input) {
    return std::string(
        ChannelShuffleLayer(groups).OutputShape({&input, 1}, GetParam()).status().message());
  }
};
INSTANTIATE_TEST_SUITE_P(Formats, ChannelShuffleLayerTest,
                         ::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW));

TEST_P(ChannelShuffleLayerTest, Gradients) {
  for (const int64_t groups : {1, 2, 3, 6}) {
    EXPECT_TRUE(CheckGradients(ChannelShuffleLayer(groups), {Sample(2, 3, 6)}, GetParam()))
        << groups;
  }
}

TEST_P(ChannelShuffleLayerTest, TheShapeStays) {
  const Shape image = Sample(4, 5, 6);
  EXPECT_EQ(*ChannelShuffleLayer(3).OutputShape({&image, 1}, GetParam()), image);
  EXPECT_EQ(ChannelShuffleLayer(3).SettingsCell(), "groups=3");
}

TEST_P(ChannelShuffleLayerTest, SaysWhatItRefuses) {
  EXPECT_EQ(Refusal(4, Sample(2, 2, 6)),
            "channel pick: groups is 4, expected a divisor of 6 channels");
  EXPECT_EQ(Refusal(0, Sample(2, 2, 6)),
            "channel pick: groups is 0, expected a divisor of 6 channels");
  EXPECT_NE(Refusal(1, Shape{10}), "");
}

}  // namespace
}  // namespace dtnn
