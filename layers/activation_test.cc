#include "layers/activation.h"

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
}

}  // namespace
}  // namespace dtnn
