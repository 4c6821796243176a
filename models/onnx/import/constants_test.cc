#include <sys/resource.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/onnx/testing/import_fixture.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(ImportTest, AShapeThatOnlyFlattensIsFolded) {
  onnx::GraphProto& graph = *onnx_.mutable_graph();
  graph.mutable_node()->DeleteSubrange(2, 2);
  Integers("zero", {0});
  Integers("minus", {-1});
  graph.mutable_initializer(2)->clear_dims();
  Node("Shape", {"p"}, "s");
  Node("Gather", {"s", "zero"}, "n");
  Ints(Node("Unsqueeze", {"n"}, "n1"), "axes", {0});
  Int(Node("Concat", {"n1", "minus"}, "wanted"), "axis", 0);
  Node("Reshape", {"p", "wanted"}, "f");
  Node("Gemm", {"f", "m"}, "y");
  const auto imported = Import();
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->model.graph.nodes().size(), 5U);
  At(5).mutable_attribute(0)->set_i(1);
  EXPECT_THAT(Error(), HasSubstr("names axis 1 of 1 axes"));
}

TEST_F(ImportTest, ArithmeticOfShapesHasLimits) {
  const onnx::ModelProto valid = onnx_;
  const auto error = [&](const char* type, const std::vector<int64_t>& a,
                         const std::vector<int64_t>& b) {
    onnx_ = valid;
    onnx_.mutable_graph()->mutable_node()->DeleteSubrange(2, 2);
    Integers("zero", {0});
    onnx_.mutable_graph()->mutable_initializer(2)->clear_dims();
    Integers("a", a);
    Integers("b", b);
    Node("Shape", {"p"}, "s");
    Node("Gather", {"s", "zero"}, "n");
    Ints(Node("Unsqueeze", {"n"}, "n1"), "axes", {0});
    Node(type, {"a", "b"}, "rest");
    Int(Node("Concat", {"n1", "rest"}, "wanted"), "axis", 0);
    Node("Reshape", {"p", "wanted"}, "f");
    Node("Gemm", {"f", "m"}, "y");
    return Error();
  };
  constexpr int64_t kMost = int64_t{1} << 40, kSide = 1 << 20;
  EXPECT_EQ(error("Sub", {kMost - 1}, {kMost}), "");
  EXPECT_EQ(error("Add", {-kMost}, {kMost - 1}), "");
  EXPECT_EQ(error("Div", {-kMost}, {kMost}), "");
  EXPECT_THAT(error("Sub", {kMost}, {kMost + 1}), HasSubstr("has numbers above 2^40"));
  EXPECT_THAT(error("Add", {-kMost - 1}, {kMost}), HasSubstr("has numbers above 2^40"));
  EXPECT_THAT(error("Mul", {kSide}, {kSide}), Not(HasSubstr("2^40")));
  EXPECT_THAT(error("Mul", {kSide + 1}, {kSide}), HasSubstr("is not a number up to 2^40"));
  EXPECT_THAT(error("Div", {1}, {0}), HasSubstr("of 1 and 0 is not a number"));
  for (const auto& [a, b] :
       {std::pair(std::vector<int64_t>{1, 1}, std::vector<int64_t>{1, 1, 1}),
        std::pair(std::vector<int64_t>{1, 1, 1}, std::vector<int64_t>{1, 1})}) {
    EXPECT_THAT(error("Mul", a, b), HasSubstr("has inputs of different sizes"));
  }
  // A shape of 64 axes is one, if for no layer.
  const std::vector<int64_t> ones(63, 1), more(64, 1);
  EXPECT_THAT(error("Mul", ones, {1}), Not(HasSubstr("not a shape")));
  EXPECT_THAT(error("Mul", more, {1}), HasSubstr("joins constants that are not a shape"));
}

TEST_F(ImportTest, ConstantsAreRepeatedIfTheyAreNumbers) {
  Integers("one", {3});
  Integers("two", {2});
  Integers("start", {1}), Integers("end", {2});
  Node("Expand", {"one", "two"}, "threes");
  Node("Slice", {"threes", "start", "end"}, "three");
  Node("Mul", {"three", "one"}, "nine");
  Node("Reshape", {"f", "nine"}, "last");
  onnx_.mutable_graph()->mutable_output(0)->set_name("last");
  EXPECT_THAT(Error(), HasSubstr("reshapes samples of (4,) to (9)"));
  Integers("open", {-1, -1});
  At(7).set_input(1, "open");
  EXPECT_THAT(Error(), HasSubstr("reshapes samples of (4,) to (-1, -1)"));
  At(7).set_input(1, "nine");
  At(4).set_input(0, "m");
  EXPECT_THAT(Error(), HasSubstr("repeats a constant of shape (4, 2) to (2); real numbers are "
                                 "repeated for each sample of a batch alone"));
  At(4).set_input(0, "f");
  EXPECT_THAT(Error(), HasSubstr("repeats what the network computes"));
  At(4).set_input(0, "one");
  onnx_.mutable_graph()->mutable_initializer(3)->set_int64_data(0, 1 << 23);
  EXPECT_THAT(Error(), HasSubstr("makes 8388608 numbers"));
}

// 4 MB of bytes, which take 32 MB when they are read, under 50 names.
TEST_F(ImportTest, AConstantIsSharedByItsNames) {
  constexpr int64_t kBytes = 1 << 22;
  onnx::TensorProto& tensor = Tensor("k0", {0});
  tensor.set_data_type(3);
  tensor.set_dims(0, kBytes);
  tensor.set_raw_data(std::string(size_t(kBytes), 1));
  Node("Cast", {"k0"}, "k1");
  Int(At(4), "to", 7);
  for (int i = 1; i < 50; ++i) Node("Identity", {StrCat("k", i)}, StrCat("k", i + 1));
  Node("MatMul", {"f", "k50"}, "last");
  onnx_.mutable_graph()->mutable_output(0)->set_name("last");
  const auto peak = [] {
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    return int64_t(usage.ru_maxrss) * 1024;
  };
  const int64_t before = peak();
  EXPECT_THAT(Error(), HasSubstr("its weights have shape (4194304)"));
  EXPECT_LT(peak() - before, 16 * 8 * kBytes);
}

}  // namespace
}  // namespace dtnn
