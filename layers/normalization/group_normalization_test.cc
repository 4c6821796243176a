#include "layers/normalization/group_normalization.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "layers/testing/gradient_check.h"

namespace dtnn {
namespace {

using ::dtnn::testing::CheckGradients;
using Norm = GroupNormalizationLayer;

TEST(GroupNormalizationLayerTest, Gradients) {
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    const auto check = [&](const GroupNormalizationOptions& options, const ImageExtents& image) {
      return CheckGradients(Norm(options), {SampleShape(image, format)}, format);
    };
    EXPECT_TRUE(check({}, {3, 5, 4}));
    EXPECT_TRUE(check({.groups = 2}, {3, 5, 6}));
    EXPECT_TRUE(check({.groups = 6}, {4, 4, 6}));
    EXPECT_TRUE(check({.per_pixel = true}, {3, 5, 6}));
    EXPECT_TRUE(check({.groups = 3, .per_pixel = true, .epsilon = 0.1}, {2, 3, 9}));
    EXPECT_TRUE(check({.per_pixel = true}, {1, 1, 17}));
  }
}

TEST(GroupNormalizationLayerTest, SaysWhatItIs) {
  const Norm plain, pixels({.groups = 2, .per_pixel = true, .epsilon = 0.5});
  EXPECT_EQ(plain.type_name(), "GroupNormalization");
  EXPECT_EQ(plain.SettingsCell(), "");
  EXPECT_EQ(pixels.SettingsCell(), "groups=2, per pixel");
  const Attributes attributes = pixels.attributes();
  EXPECT_EQ(attributes,
            (Attributes{{"groups", int64_t{2}}, {"per_pixel", int64_t{1}}, {"epsilon", 0.5}}));
  AttributeReader read(attributes);
  EXPECT_EQ(Norm::FromAttributes(read)->attributes(), attributes);
  EXPECT_TRUE(read.Done().ok());
  const Shape image = {3, 5, 4};
  const std::vector<ParameterSpec> parameters = pixels.Parameters({&image, 1}, TensorFormat::kNHWC);
  ASSERT_EQ(parameters.size(), 2u);
  EXPECT_EQ(parameters[Norm::kBeta].name, "beta");
  EXPECT_EQ(parameters[Norm::kGamma].name, "gamma");
  EXPECT_EQ(parameters[Norm::kGamma].shape, Shape{4});
}

TEST(GroupNormalizationLayerTest, RefusesWhatMakesNoSense) {
  const auto message = [](const GroupNormalizationOptions& options, const Shape& input) {
    const Shape inputs[] = {input};
    return std::string(Norm(options).OutputShape(inputs, TensorFormat::kNHWC).status().message());
  };
  EXPECT_EQ(message({}, {3, 5, 4}), "");
  EXPECT_EQ(message({}, Shape{4}), "takes one input, an image, not 1 of shape (4,)");
  EXPECT_EQ(message({.groups = 3}, {3, 5, 4}),
            "divides 4 channels into 3 groups; expected a divisor of 4");
  EXPECT_EQ(message({.groups = 0}, {3, 5, 4}),
            "divides 4 channels into 0 groups; expected a divisor of 4");
  EXPECT_EQ(message({.epsilon = 0}, {3, 5, 4}),
            "has an epsilon of 0; expected a finite number above 0");
}

}  // namespace
}  // namespace dtnn
