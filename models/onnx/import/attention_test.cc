#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/onnx/testing/attention_fixture.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(ImportAttentionTest, IsTwoProductsAndASoftmax) {
  AddScores();
  Tensor("half", {1}).set_float_data(0, 0.5);
  Node("Mul", {"s", "half"}, "scaled");
  Int(Node("Softmax", {"scaled"}, "weights"), "axis", -1);
  Turn("weights", "turned", {0, 2, 1});
  Node("MatMul", {"keys", "turned"}, "o");
  Node("Reshape", {"o", "image"}, "i");
  End("i");
  EXPECT_THAT(Layers(), ElementsAre("ScoresBlock heads 1, factor 0.5", "GroupSoftmax groups 1",
                                    "WeightedSumBlock heads 1"));
}

TEST_F(ImportAttentionTest, FactorsOfQueriesAndKeysAreThoseOfScores) {
  Node("Reshape", {"c", "heads"}, "keys");
  Turn("keys", "queries", {0, 1, 3, 2});
  Tensor("half", {1}).set_float_data(0, 0.5);
  Tensor("four", {}).set_float_data(0, 4);
  Node("Mul", {"half", "queries"}, "q");
  Node("Div", {"keys", "four"}, "k");
  Node("MatMul", {"q", "k"}, "s");
  Int(Node("Softmax", {"s"}, "weights"), "axis", 3);
  Turn("keys", "values", {0, 1, 3, 2});
  Node("MatMul", {"weights", "values"}, "o");
  Turn("o", "turned", {0, 1, 3, 2});
  Node("Reshape", {"turned", "image"}, "i");
  End("i");
  EXPECT_THAT(Layers(), ElementsAre("ScoresBlock heads 2, factor 0.125", "GroupSoftmax groups 2",
                                    "WeightedSumBlock heads 2"));
  // Weights and values take none.
  At(7).set_input(0, "k");
  EXPECT_THAT(Error(), HasSubstr("was multiplied by a number"));
}

TEST_F(ImportAttentionTest, ScoresAreDividedByANumberNotANumberByScores) {
  AddScores();
  Tensor("two", {1}).set_float_data(0, 2);
  onnx::NodeProto& division = Node("Div", {"s", "two"}, "scaled");
  Int(Node("Softmax", {"scaled"}, "weights"), "axis", -1);
  Turn("weights", "turned", {0, 2, 1});
  Node("MatMul", {"keys", "turned"}, "o");
  Node("Reshape", {"o", "image"}, "i");
  End("i");
  EXPECT_THAT(Layers(), ElementsAre("ScoresBlock heads 1, factor 0.5", "GroupSoftmax groups 1",
                                    "WeightedSumBlock heads 1"));
  division.set_input(0, "two");
  division.set_input(1, "s");
  EXPECT_THAT(Error(), HasSubstr("operator \"Div\"): computes with an image under the axes "));
}

TEST_F(ImportAttentionTest, OtherProductsOfImagesAreRefused) {
  AddScores();
  onnx::NodeProto& product = At(3);
  product.set_input(0, "keys");
  product.set_input(1, "queries");
  End("s");
  EXPECT_THAT(Error(),
              HasSubstr("node 3 (\"the_s\", operator \"MatMul\"): multiplies images under the axes "
                        "(N, 4, 20) and (N, 20, 4); layers multiply two images over the channels "
                        "of their heads"));
  product.set_input(1, "keys");
  EXPECT_THAT(Error(), HasSubstr("multiplies images under the axes (N, 4, 20) and (N, 4, 20)"));
  product.set_input(1, "c");
  EXPECT_THAT(Error(), HasSubstr("multiplies images under the axes (N, 4, 20) and (N, 4, 4, 5)"));
}

// Two heads of the queries, whose channels are those of the other one of the keys.
TEST_F(ImportAttentionTest, AFactorIsNotLostBeforeAConvolution) {
  Node("Reshape", {"c", "tokens"}, "keys");
  Tensor("half", {1}).set_float_data(0, 0.5);
  Node("Mul", {"keys", "half"}, "scaled");
  Node("Reshape", {"scaled", "image"}, "i");
  Tensor("again", {4, 4, 1, 1});
  Node("Conv", {"i", "again"}, "o");
  End("o");
  EXPECT_THAT(Error(), HasSubstr("its input 0 was multiplied by a number; only the scores of"));
  At(2).set_input(0, "c");
  At(3).set_input(0, "keys");
  At(4).set_input(0, "keys");
  EXPECT_THAT(Error(), HasSubstr("(N, 4, 20)"));
}

TEST_F(ImportAttentionTest, AsManyChannelsAsSamplesAreRefused) {
  Node("Reshape", {"c", "tokens"}, "keys");
  onnx::NodeProto& shape = Node("Shape", {"x"}, "batch");
  Int(shape, "start", 0), Int(shape, "end", 1);
  Integers("far", {1 << 30}), Integers("axis", {1});
  Node("Slice", {"keys", "batch", "far", "axis"}, "part");
  Node("Reshape", {"part", "image"}, "i");
  End("i");
  EXPECT_THAT(Error(), HasSubstr("takes as many places as the batch has samples"));
}

TEST_F(ImportAttentionTest, HeadsMustBeTheSame) {
  Integers("mixed", {-1, 2, 2, 20});
  Node("Reshape", {"c", "mixed"}, "k");
  Turn("k", "keys", {0, 2, 1, 3});
  Turn("k", "queries", {0, 1, 3, 2});
  Node("MatMul", {"queries", "keys"}, "s");
  End("s");
  EXPECT_THAT(Error(), HasSubstr("multiplies images under the axes (N, 2, 20, 2) and "
                                 "(N, 2, 2, 20)"));
}

TEST_F(ImportAttentionTest, ASoftmaxIsOverTheChannelsOfAHead) {
  AddScores();
  onnx::NodeProto& softmax = Node("Softmax", {"s"}, "weights");
  Int(softmax, "axis", 1);
  End("weights");
  EXPECT_THAT(Error(), HasSubstr("is a softmax over axis 1 of (N, 20, 20)"));
  softmax.mutable_attribute(0)->set_i(3);
  EXPECT_THAT(Error(), HasSubstr("names axis 3 of 3 axes"));
}

TEST_F(ImportAttentionTest, OperatorsOfOtherAxesAreNamed) {
  Node("Reshape", {"c", "tokens"}, "t");
  onnx::NodeProto& other = Node("GlobalMaxPool", {"t"}, "o");
  End("o");
  EXPECT_THAT(Error(),
              HasSubstr("reads an image under the axes (N, 4, 20); the operators that are "
                        "read of such are Add, Atanh, Clip, Concat, Div, Dropout, Elu, Erf"));
  other.set_op_type("Reshape");
  other.add_input("odd");
  Integers("odd", {-1, 8, 9});
  EXPECT_THAT(Error(), HasSubstr("reshapes the axes (N, 4, 20) of an image to (-1, 8, 9)"));
  other.set_op_type("Mul");
  other.set_input(1, "t");
  EXPECT_THAT(Error(), HasSubstr("computes with an image under the axes (N, 4, 20) and other than "
                                 "one number"));
  other.set_op_type("Transpose");
  other.mutable_input()->RemoveLast();
  Ints(other, "perm", {0, 1, 3});
  EXPECT_THAT(Error(), HasSubstr("its attribute \"perm\" is not an order of the axes"));
}

TEST_F(ImportAttentionTest, PartsOfChannelsAreSlices) {
  Integers("parts", {-1, 2, 2, 20});
  Integers("one", {1});
  Node("Reshape", {"c", "parts"}, "t");
  onnx::TensorProto& last = *onnx_.mutable_graph()->add_initializer();
  last.set_name("last");
  last.set_data_type(7);
  last.add_int64_data(-1);
  onnx::NodeProto& gather = Node("Gather", {"t", "last"}, "g");
  Int(gather, "axis", 1);
  Integers("small", {-1, 2, 4, 5});
  Node("Reshape", {"g", "small"}, "i");
  End("i");
  Tensor("narrow", {2, 2});
  At(onnx_.graph().node_size() - 1).set_input(1, "narrow");
  EXPECT_THAT(Layers(), ElementsAre("ChannelSlice channels 2 to 3"));
  gather.mutable_attribute(0)->set_i(2);
  EXPECT_THAT(Error(), HasSubstr("takes a part of axis 2 of (N, 2, 2, 20)"));
  gather.mutable_attribute(0)->set_i(1);
  onnx_.mutable_graph()
      ->mutable_initializer(onnx_.graph().initializer_size() - 3)
      ->set_int64_data(0, 2);
  EXPECT_THAT(Error(), HasSubstr("takes place 2 of axis 1 of (N, 2, 2, 20)"));
}

// 1 / sqrt 2 of two channels of a head is not a step of GELU.
TEST_F(ImportAttentionTest, QueriesAreDividedByTheRootOfTwo) {
  Node("Reshape", {"c", "heads"}, "keys");
  Turn("keys", "queries", {0, 1, 3, 2});
  Tensor("root", {}).set_float_data(0, 1.41421356F);
  Node("Div", {"queries", "root"}, "q");
  Node("MatMul", {"q", "keys"}, "s");
  onnx::NodeProto& product = At(onnx_.graph().node_size() - 1);
  Int(Node("Softmax", {"s"}, "weights"), "axis", 3);
  Turn("keys", "values", {0, 1, 3, 2});
  Node("MatMul", {"weights", "values"}, "o");
  Turn("o", "turned", {0, 1, 3, 2});
  Node("Reshape", {"turned", "image"}, "i");
  End("i");
  EXPECT_THAT(Layers()[0], HasSubstr("ScoresBlock heads 2, factor 0.7071"));
  product.set_input(0, "queries");
  At(3).set_input(0, "s");  // and of scores
  onnx_.mutable_graph()->mutable_node()->SwapElements(3, 4);
  At(5).set_input(0, "q");
  EXPECT_THAT(Layers()[0], HasSubstr("ScoresBlock heads 2, factor 0.7071"));
}

// As PyTorch writes 1 / sqrt(channels of a head).
TEST_F(ImportAttentionTest, AFactorIsComputedFromAShape) {
  Node("Reshape", {"c", "heads"}, "keys");
  Turn("keys", "queries", {0, 1, 3, 2});
  onnx::NodeProto& shape = Node("Shape", {"queries"}, "extents");
  Int(shape, "start", 3), Int(shape, "end", 4);
  Int(Node("Cast", {"extents"}, "real"), "to", 1);
  Tensor("two", {1}).set_float_data(0, 2);
  Node("Mul", {"real", "two"}, "four");
  Node("Sqrt", {"four"}, "root");
  Node("Div", {"two", "root"}, "factor");
  Node("Mul", {"queries", "factor"}, "q");
  Node("MatMul", {"q", "keys"}, "s");
  Int(Node("Softmax", {"s"}, "weights"), "axis", 3);
  Turn("keys", "values", {0, 1, 3, 2});
  Node("MatMul", {"weights", "values"}, "o");
  Turn("o", "turned", {0, 1, 3, 2});
  Node("Reshape", {"turned", "image"}, "i");
  End("i");
  EXPECT_EQ(Layers()[0], "ScoresBlock heads 2, factor 1");
  shape.mutable_attribute(0)->set_i(0), shape.mutable_attribute(1)->set_i(1);
  EXPECT_THAT(Error(), HasSubstr("operator \"Cast\"): computes with the size of the batch"));
}

TEST_F(ImportAttentionTest, AnAxisIsNamedOnce) {
  Integers("added", {1, 1});
  Node("Reshape", {"c", "tokens"}, "t");
  onnx::NodeProto& node = Node("Unsqueeze", {"t", "added"}, "u");
  Node("Reshape", {"u", "image"}, "i");
  End("i");
  EXPECT_THAT(Error(), HasSubstr("operator \"Unsqueeze\"): names axis 1 twice"));
  auto& added = *onnx_.mutable_graph()->mutable_initializer(onnx_.graph().initializer_size() - 1);
  added.set_int64_data(0, -4);  // of 5 axes, the same
  EXPECT_THAT(Error(), HasSubstr("names axis 1 twice"));
  added.set_int64_data(0, 3);
  EXPECT_THAT(Layers(), ElementsAre());
  node.set_op_type("Squeeze");
  EXPECT_THAT(Error(), HasSubstr("names axis 3 of 3 axes"));
}

TEST_F(ImportAttentionTest, TheOutputIsAnImageAgain) {
  Node("Reshape", {"c", "tokens"}, "y");
  EXPECT_THAT(Error(), HasSubstr("its output \"y\" is only a part of a layer"));
}

}  // namespace
}  // namespace dtnn
