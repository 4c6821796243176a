#include "layers/activation.h"

#include "gtest/gtest.h"
#include "layers/testing/gradient_check.h"

namespace dtnn {
namespace {

using ::dtnn::testing::CheckGradients;

TEST(ActivationLayerTest, Gradients) {
  for (ActivationKind kind : kActivationKinds) {
    // Both kinks of relu6, and the domain of artanh, are met.
    const double range = kind == ActivationKind::kRelu6 ? 9 : 0.8;
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
}

}  // namespace
}  // namespace dtnn
