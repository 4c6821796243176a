#include "layers/activation.h"

#include <cmath>
#include <string>

#include "gtest/gtest.h"
#include "layers/testing/gradient_check.h"

namespace dtnn {
namespace {

using ::dtnn::testing::CheckGradients;

TEST(ActivationLayerTest, Gradients) {
  for (ActivationKind kind : kActivationKinds) {
    // Every kink is met, and artanh stays in its domain.
    const double range = kind == ActivationKind::kArctanh ? 0.8 : 9;
    for (TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
      const ActivationLayer layer(kind);
      EXPECT_TRUE(CheckGradients(layer, {Shape{3, 5, 2}}, format, 3, range)) << Name(kind);
      EXPECT_TRUE(CheckGradients(layer, {Shape{19}}, format, 3, range)) << Name(kind);
    }
  }
}

TEST(ActivationLayerTest, GradientsWithOtherNumbers) {
  const ActivationLayer layers[] = {ActivationLayer(ActivationKind::kLeakyRelu, {.slope = 0.3}),
                                    ActivationLayer(ActivationKind::kElu, {.alpha = 0.7}),
                                    ActivationLayer(ActivationKind::kElu, {.alpha = 0}),
                                    ActivationLayer(ActivationKind::kClip, {.low = -3, .high = 2})};
  for (const ActivationLayer& layer : layers) {
    EXPECT_TRUE(CheckGradients(layer, {Shape{3, 5, 2}}, TensorFormat::kNHWC, 3, 9))
        << layer.SettingsCell();
  }
}

TEST(ActivationLayerTest, NumbersAreAttributesAndAreChecked) {
  const Shape shape = {4};
  const auto error = [&](ActivationKind kind, const ActivationNumbers& numbers) {
    return std::string(ActivationLayer(kind, numbers)
                           .OutputShape({&shape, 1}, TensorFormat::kNHWC)
                           .status()
                           .message());
  };
  EXPECT_EQ(ActivationLayer(ActivationKind::kLeakyRelu).SettingsCell(), "");
  EXPECT_EQ(ActivationLayer(ActivationKind::kLeakyRelu, {.slope = 0.2}).SettingsCell(),
            "slope 0.2");
  EXPECT_EQ(ActivationLayer(ActivationKind::kElu).SettingsCell(), "alpha 1");
  EXPECT_EQ(ActivationLayer(ActivationKind::kClip, {.low = 0.5, .high = 2}).SettingsCell(),
            "low 0.5, high 2");
  EXPECT_EQ(error(ActivationKind::kLeakyRelu, {.slope = -0.5}),
            "slope is -0.5, expected a number from 0 on that a float can be");
  EXPECT_EQ(error(ActivationKind::kElu, {.alpha = 1e39}),
            "alpha is 1e+39, expected a number from 0 on that a float can be");
  EXPECT_EQ(error(ActivationKind::kClip, {.low = 2, .high = 1}),
            "clips from 2 to 1, expected two numbers that floats can be, the smaller one first");
  EXPECT_EQ(error(ActivationKind::kClip, {.low = std::nan(""), .high = 1}).substr(0, 9),
            "clips fro");
  EXPECT_EQ(error(ActivationKind::kRelu, {.slope = -1, .alpha = -1, .low = 2}), "");
}

TEST(ActivationLayerTest, Names) {
  EXPECT_EQ(ActivationLayer(ActivationKind::kRelu).type_name(), "Relu");
  EXPECT_EQ(ActivationLayer(ActivationKind::kSigmoid).type_name(), "Sigmoid");
  EXPECT_EQ(ActivationLayer(ActivationKind::kTanh).type_name(), "Tanh");
  EXPECT_EQ(ActivationLayer(ActivationKind::kLeakyRelu).type_name(), "LeakyRelu");
  EXPECT_EQ(ActivationLayer(ActivationKind::kRelu6).type_name(), "Relu6");
  EXPECT_EQ(ActivationLayer(ActivationKind::kArctanh).type_name(), "Arctanh");
  EXPECT_EQ(ActivationLayer(ActivationKind::kLog).type_name(), "Log");
  EXPECT_EQ(ActivationLayer(ActivationKind::kHardSigmoid).type_name(), "HardSigmoid");
  EXPECT_EQ(ActivationLayer(ActivationKind::kSilu).type_name(), "SiLU");
  EXPECT_EQ(ActivationLayer(ActivationKind::kGelu).type_name(), "GELU");
  EXPECT_EQ(ActivationLayer(ActivationKind::kHardSwish).type_name(), "HardSwish");
  EXPECT_EQ(ActivationLayer(ActivationKind::kElu).type_name(), "ELU");
  EXPECT_EQ(ActivationLayer(ActivationKind::kClip).type_name(), "Clip");
  EXPECT_EQ(ActivationLayer(ActivationKind::kSoftplus).type_name(), "Softplus");
  EXPECT_EQ(ActivationLayer(ActivationKind::kMish).type_name(), "Mish");
}

}  // namespace
}  // namespace dtnn
