#include "layers/channels/group_softmax.h"

#include <string>

#include "gtest/gtest.h"
#include "layers/testing/gradient_check.h"

namespace dtnn {
namespace {

TEST(GroupSoftmaxLayerTest, Gradients) {
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    const Shape image = SampleShape({2, 3, 6}, format);
    for (const int64_t groups : {1, 2, 6}) {
      EXPECT_TRUE(testing::CheckGradients(GroupSoftmaxLayer(groups), {image}, format)) << groups;
    }
  }
}

TEST(GroupSoftmaxLayerTest, TakesGroupsOfAsManyChannels) {
  const Shape image{2, 3, 6}, vector{6};
  EXPECT_EQ(*GroupSoftmaxLayer(3).OutputShape({&image, 1}, TensorFormat::kNHWC), image);
  const auto error = [](int64_t groups, const Shape& input) {
    return std::string(
        GroupSoftmaxLayer(groups).OutputShape({&input, 1}, TensorFormat::kNHWC).status().message());
  };
  EXPECT_EQ(error(4, image), "groups is 4, expected a number that divides 6 channels evenly");
  EXPECT_NE(error(0, image), "");
  EXPECT_NE(error(1, vector), "");
}

}  // namespace
}  // namespace dtnn
