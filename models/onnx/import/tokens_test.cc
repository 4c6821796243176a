#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/onnx/testing/attention_fixture.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// As files of opsets before 20 have it, of tokens: x * (Erf(x / sqrt 2) + 1) / 2.
TEST_F(ImportAttentionTest, GeluOfTokensIsALayer) {
  Node("Reshape", {"c", "tokens"}, "t");
  Turn("t", "pixels", {0, 2, 1});
  Tensor("root", {}).set_float_data(0, 1.41421356F);
  Tensor("one", {}).set_float_data(0, 1);
  Tensor("half", {}).set_float_data(0, 0.5F);
  Node("Div", {"pixels", "root"}, "over");
  Node("Erf", {"over"}, "erf");
  Node("Add", {"erf", "one"}, "plus");
  Node("Mul", {"pixels", "plus"}, "twice");
  Node("Mul", {"twice", "half"}, "gelu");
  Turn("gelu", "turned", {0, 2, 1});
  Node("Reshape", {"turned", "image"}, "i");
  End("i");
  EXPECT_THAT(Layers(), ElementsAre("GELU "));
  At(6).set_input(0, "t");  // under other axes than its other factor
  EXPECT_THAT(Error(), HasSubstr("operator \"Mul\")"));
  At(6).set_input(0, "pixels");
  At(5).set_input(1, "half");
  EXPECT_THAT(Error(), HasSubstr("is a step of"));
}

TEST_F(ImportAttentionTest, AStepOfGeluHasNoOtherFactor) {
  Node("Reshape", {"c", "tokens"}, "pixels");
  Tensor("root", {}).set_float_data(0, 1.41421356F);
  Tensor("one", {}).set_float_data(0, 1);
  Tensor("half", {}).set_float_data(0, 0.5F);
  Tensor("third", {}).set_float_data(0, 0.3F);
  Node("Div", {"pixels", "root"}, "over");
  Node("Erf", {"over"}, "erf");
  Node("Add", {"erf", "one"}, "plus");
  Node("Mul", {"pixels", "plus"}, "twice");
  Node("Mul", {"twice", "third"}, "less");
  Node("Mul", {"less", "half"}, "gelu");
  Node("Reshape", {"gelu", "image"}, "i");
  End("i");
  EXPECT_THAT(Error(), HasSubstr("node 6 (\"the_less\", operator \"Mul\"): its input 0 is a step"));
}

// With a batch of any size, 1 is not N: each of these reads all samples as one.
TEST_F(ImportAttentionTest, ANumberIsTheBatchOnlyWhereTheInputHasIt) {
  const onnx::ModelProto begun = onnx_;
  const auto batch = [&](int64_t samples) {
    Value(*onnx_.mutable_graph()->mutable_input(0), "x", {samples, 3, 5, 6});
  };
  const auto attends = [&](int64_t first) {
    onnx_ = begun;
    Integers("all", {first, -1, 4});
    Integers("last", {-1, 4, 5, 4});
    Turn("c", "t", {0, 2, 3, 1});
    Node("Reshape", {"t", "all"}, "queries");
    Turn("queries", "keys", {0, 2, 1});
    Node("MatMul", {"queries", "keys"}, "s");
    Int(Node("Softmax", {"s"}, "weights"), "axis", -1);
    Node("MatMul", {"weights", "queries"}, "o");
    Node("Reshape", {"o", "last"}, "back");
    Turn("back", "i", {0, 3, 1, 2});
    End("i");
  };
  const auto flattens = [&](int64_t first) {
    onnx_ = begun;
    Integers("row", {first, -1});
    Node("GlobalAveragePool", {"c"}, "p");
    Node("Reshape", {"p", "row"}, "f");
    Int(Node("Softmax", {"f"}, "z"), "axis", 1);
    Node("Gemm", {"z", "m"}, "y");
  };
  const auto means = [&](int64_t first) {
    onnx_ = begun;
    Integers("all", {first, -1, 4});
    Turn("c", "t", {0, 2, 3, 1});
    Node("Reshape", {"t", "all"}, "rows");
    onnx::NodeProto& mean = Node("ReduceMean", {"rows"}, "f");
    Ints(mean, "axes", {1}), Int(mean, "keepdims", 0);
    Node("Gemm", {"f", "m"}, "y");
  };
  for (const int64_t samples : {1, 8}) {
    for (const int64_t other : {1, 2, 8}) {
      for (const auto& make :
           {std::function<void(int64_t)>(attends), std::function<void(int64_t)>(flattens),
            std::function<void(int64_t)>(means)}) {
        make(other);
        EXPECT_NE(Error(), "");
        batch(samples);
        EXPECT_EQ(Error() == "", other == samples) << Error();
      }
    }
  }
}

// The sigmoid of an image of as many channels as rows and columns, the other way round.
TEST_F(ImportAttentionTest, SiluIsOfOneView) {
  Tensor("w3", {4, 3, 2, 3});
  At(0).set_input(1, "w3");
  Node("Sigmoid", {"c"}, "s");
  Turn("s", "turned", {0, 2, 3, 1});
  Node("Mul", {"c", "turned"}, "product");
  End("product");
  EXPECT_THAT(Error(), HasSubstr("multiplies values with channels first and last"));
}

TEST_F(ImportAttentionTest, ChannelsOfTokensAreSplitAndScaled) {
  Node("Reshape", {"c", "tokens"}, "t");
  Turn("t", "pixels", {0, 2, 1});
  onnx::NodeProto& split = Node("Split", {"pixels"}, "a");
  split.add_output("b");
  Int(split, "axis", 2);
  Tensor("scale", {2}).set_float_data(0, 3);
  Node("Mul", {"scale", "b"}, "scaled");
  Node("Add", {"a", "scaled"}, "sum");
  Turn("sum", "turned", {0, 2, 1});
  Integers("narrow", {-1, 2, 4, 5});
  Node("Reshape", {"turned", "narrow"}, "i");
  End("i");
  Tensor("m2", {2, 2});
  At(onnx_.graph().node_size() - 1).set_input(1, "m2");
  EXPECT_THAT(Layers(), ElementsAre("ChannelSlice channels 0 to 1", "ChannelSlice channels 2 to 3",
                                    HasSubstr("Conv2D"), HasSubstr("Addition")));
  split.mutable_attribute(0)->set_i(0);
  EXPECT_THAT(Error(), HasSubstr("takes a part of axis 0 of (N, 20, 4); only rows, columns, "));
}

TEST_F(ImportAttentionTest, AMeanOfTokensIsAPooling) {
  Node("Reshape", {"c", "tokens"}, "t");
  Turn("t", "pixels", {0, 2, 1});
  onnx::NodeProto& mean = Node("ReduceMean", {"pixels"}, "f");
  Ints(mean, "axes", {1}), Int(mean, "keepdims", 0);
  Node("Gemm", {"f", "m"}, "y");
  const auto imported = Import();
  ASSERT_EQ(imported.status(), absl::OkStatus());
  const auto& nodes = imported->model.graph.nodes();
  ASSERT_EQ(nodes.size(), 5U);
  EXPECT_EQ(nodes[2].layer->type_name(), "AveragePool2D");
  EXPECT_EQ(nodes[3].layer->type_name(), "Flatten");
  for (const int64_t axis : {0, 2}) {
    mean.mutable_attribute(0)->set_ints(0, axis);
    EXPECT_THAT(Error(), HasSubstr("is a mean over other axes than height and width"));
  }
}

TEST_F(ImportAttentionTest, ConstantsHaveNoMoreAxesThanTheImage) {
  Node("Reshape", {"c", "tokens"}, "keys");
  Turn("keys", "queries", {0, 2, 1});
  Tensor("m4", {4, 4});
  Tensor("bias", {1, 1, 1, 4});
  Node("MatMul", {"queries", "m4"}, "product");
  Node("Add", {"product", "bias"}, "sum");
  Turn("sum", "turned", {0, 2, 1});
  Node("Reshape", {"turned", "image"}, "i");
  End("i");
  EXPECT_THAT(Error(), HasSubstr("computes with a constant of shape (1, 1, 1, 4) and the axes (N, "
                                 "20, 4), which are fewer"));
  auto& bias = *onnx_.mutable_graph()->mutable_initializer(onnx_.graph().initializer_size() - 1);
  bias.mutable_dims()->RemoveLast(), bias.set_dims(2, 4);
  EXPECT_THAT(Layers(), ElementsAre(HasSubstr("Conv2D")));
  Tensor("many", {1, 1, 1, 1});
  At(4).set_op_type("Mul"), At(4).set_input(1, "many");
  EXPECT_THAT(Error(),
              HasSubstr("computes with an image under the axes (N, 20, 4) and other than"));
}

}  // namespace
}  // namespace dtnn
