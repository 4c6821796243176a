#include "layers/activation.h"

#include "gtest/gtest.h"
#include "layers/testing/gradient_check.h"

namespace dtnn {
namespace {

using ::dtnn::testing::CheckGradients;

TEST(ActivationLayerTest, Gradients) {
  for (ActivationKind kind :
       {ActivationKind::kRelu, ActivationKind::kSigmoid, ActivationKind::kTanh}) {
    for (TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
      EXPECT_TRUE(CheckGradients(ActivationLayer(kind), {Shape{3, 5, 2}}, format)) << Name(kind);
      EXPECT_TRUE(CheckGradients(ActivationLayer(kind), {Shape{19}}, format)) << Name(kind);
    }
  }
}

TEST(ActivationLayerTest, Names) {
  EXPECT_EQ(ActivationLayer(ActivationKind::kRelu).type_name(), "Relu");
  EXPECT_EQ(ActivationLayer(ActivationKind::kSigmoid).type_name(), "Sigmoid");
  EXPECT_EQ(ActivationLayer(ActivationKind::kTanh).type_name(), "Tanh");
}

}  // namespace
}  // namespace dtnn
