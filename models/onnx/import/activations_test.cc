#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "layers/activation.h"
#include "models/onnx/testing/attention_fixture.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The convolution makes "c", of which each test makes "a".
class ImportActivationTest : public ImportAttentionTest {
 protected:
  static void Real(onnx::NodeProto& node, const std::string& name, float value) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(1);
    attribute.set_f(value);
  }
  void Scalar(const std::string& name, float value) { Tensor(name, {}).set_float_data(0, value); }
};

TEST_F(ImportActivationTest, NumbersAreThoseOfTheFile) {
  Real(Node("LeakyRelu", {"c"}, "l"), "alpha", 0.3F);
  Real(Node("Elu", {"l"}, "e"), "alpha", 0.7F);
  Node("Elu", {"e"}, "a");
  End("a");
  EXPECT_THAT(Layers(), ElementsAre("LeakyRelu slope 0.3", "ELU alpha 0.7", "ELU alpha 1"));
  At(2).mutable_attribute(0)->set_f(-1);
  EXPECT_THAT(Error(), HasSubstr("alpha is -1, expected a number from 0 on"));
  At(2).mutable_attribute(0)->set_f(1);
  At(1).mutable_attribute(0)->set_f(-0.5F);
  EXPECT_THAT(Error(), HasSubstr("(\"the_l\", operator \"LeakyRelu\"): slope is -0.5, expected a "
                                 "number from 0 on"));
}

TEST_F(ImportActivationTest, ClipsOfAnyBounds) {
  Scalar("low", -0.5F), Scalar("high", 2);
  Node("Clip", {"c", "low", "high"}, "b");
  Node("Clip", {"b", "low"}, "d");
  Node("Clip", {"d", "", "high"}, "e");
  Node("Clip", {"e"}, "a");
  End("a");
  const std::string none = "3.40282e+38";
  EXPECT_THAT(Layers(), ElementsAre("Clip low -0.5, high 2", "Clip low -0.5, high " + none,
                                    "Clip low -" + none + ", high 2",
                                    "Clip low -" + none + ", high " + none));
  onnx_.mutable_graph()
      ->mutable_initializer(onnx_.graph().initializer_size() - 1)
      ->set_float_data(0, -1);
  EXPECT_THAT(Error(), HasSubstr("clips from -0.5 to -1, expected two numbers that floats can be, "
                                 "the smaller one first"));
  onnx_.mutable_graph()
      ->mutable_initializer(onnx_.graph().initializer_size() - 1)
      ->set_float_data(0, std::numeric_limits<float>::quiet_NaN());
  EXPECT_THAT(Error(), HasSubstr("clips from -0.5 to nan"));
}

// The steps of Mish are one layer where nothing else reads them.
TEST_F(ImportActivationTest, SoftplusAndMish) {
  Node("Softplus", {"c"}, "s");
  Node("Tanh", {"s"}, "t");
  Node("Mul", {"c", "t"}, "a");
  End("a");
  EXPECT_THAT(Layers(), ElementsAre("Mish "));
  At(3).set_input(0, "t"), At(3).set_input(1, "c");
  EXPECT_THAT(Layers(), ElementsAre("Mish "));
  At(4).set_input(0, "t");  // not the product
  EXPECT_THAT(Layers(), ElementsAre("Softplus ", "Tanh "));
  At(4).set_input(0, "s");
  At(1).set_op_type("Mish");
  EXPECT_THAT(Layers(), ElementsAre("Mish "));
}

TEST_F(ImportActivationTest, StepsOfMishThatAreReadStayLayers) {
  Node("GlobalAveragePool", {"c"}, "q");
  Node("Softplus", {"q"}, "s");
  Node("Tanh", {"s"}, "t");
  Node("Mul", {"q", "t"}, "r");
  Node("Add", {"r", "s"}, "a");
  End("a");
  EXPECT_THAT(Layers(),
              ElementsAre("AveragePool2D padd=(0,0), stride=(1,1), dilat=(1,1)", "Softplus ",
                          "Tanh ", "MultiplicationBlock ", "AdditionBlock "));
}

// As PyTorch writes it with dynamo=True.
TEST_F(ImportActivationTest, SoftplusIsItsArgumentWhereThatIsLarge) {
  Scalar("bound", 20);
  Node("Softplus", {"c"}, "s");
  Node("Greater", {"c", "bound"}, "g");
  Node("Where", {"g", "c", "s"}, "a");
  End("a");
  EXPECT_THAT(Layers(), ElementsAre("Softplus "));
  At(3).set_input(1, "s");
  EXPECT_THAT(Error(), HasSubstr("chooses between values of the network; that is read as the last "
                                 "step of Softplus alone"));
  At(3).set_input(1, "c");
  At(1).set_op_type("Tanh");
  EXPECT_THAT(Error(), HasSubstr("chooses between values"));
  At(1).set_op_type("Softplus");
  At(3).set_op_type("Mul");
  At(3).mutable_input()->RemoveLast();
  EXPECT_THAT(Error(), HasSubstr("is a step of -Softplus(-x), which is log(sigmoid x), of x * "
                                 "(Erf(x / sqrt 2) + 1) / 2, which is GELU, of Where(x > 20, x, "
                                 "Softplus x), or of a channel shuffle"));
  onnx_.mutable_graph()
      ->mutable_initializer(onnx_.graph().initializer_size() - 1)
      ->set_float_data(0, 2);
  EXPECT_THAT(Error(), HasSubstr("compares values; that is read as a step of Softplus alone"));
}

TEST_F(ImportActivationTest, SlopesAreThoseOfChannelsOrOneForAll) {
  Tensor("slopes.weight", {4, 1, 1}), Tensor("one.weight", {1}), Tensor("features", {4});
  Node("PRelu", {"c", "slopes.weight"}, "b");
  Node("PRelu", {"b", "one.weight"}, "a");
  End("a");
  Node("PRelu", {"f", "features"}, "r");
  auto& nodes = *onnx_.mutable_graph()->mutable_node();
  nodes.SwapElements(nodes.size() - 1, nodes.size() - 2);
  At(nodes.size() - 1).set_input(0, "r");
  EXPECT_THAT(AllLayers(), ElementsAre("PRelu ", "PRelu one slope",
                                       "AveragePool2D padd=(0,0), stride=(1,1), dilat=(1,1)",
                                       "Flatten ", "PRelu ", "FC "));
  onnx_.mutable_graph()->mutable_initializer(5)->set_dims(0, 1);
  onnx_.mutable_graph()->mutable_initializer(5)->set_dims(2, 4);
  EXPECT_THAT(Error(), HasSubstr("multiplies a constant of shape (1, 1, 4) with samples of "
                                 "(4, 4, 5); a slope has an element for each channel, of shape "
                                 "(1, 4, 1, 1)"));
}

// -Softplus(-x) is the logarithm of a sigmoid; without the first sign, it would be that of -x.
TEST_F(ImportActivationTest, ALogarithmOfASigmoidHasBothItsSigns) {
  Node("Neg", {"c"}, "n");
  Node("Softplus", {"n"}, "s");
  Node("Neg", {"s"}, "a");
  End("a");
  EXPECT_THAT(Layers(), ElementsAre("Log "));
  At(2).set_input(0, "c");
  EXPECT_THAT(Error(), HasSubstr("is a step of -Softplus(-x)"));
}

TEST_F(ImportActivationTest, AxesDoNotMatterToActivations) {
  AddScores();
  Node("Sigmoid", {"s"}, "g");
  Node("Mul", {"s", "g"}, "silu");
  Node("Tanh", {"silu"}, "t");
  Node("Sum", {"silu", "t"}, "sum");
  Node("LeakyRelu", {"sum"}, "l");
  Node("Mish", {"l"}, "h");
  Turn("h", "turned", {0, 2, 1});
  Node("MatMul", {"keys", "turned"}, "v");
  Node("Reshape", {"v", "image"}, "a");
  End("a");
  EXPECT_THAT(Layers(),
              ElementsAre("ScoresBlock heads 1, factor 1", "SiLU ", "Tanh ", "AdditionBlock ",
                          "LeakyRelu ", "Mish ", "WeightedSumBlock heads 1"));
}

}  // namespace
}  // namespace dtnn
