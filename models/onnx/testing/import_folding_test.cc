// What operators on constants make, as a Reshape of 4 features to it says, which is refused.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/onnx/testing/import_fixture.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;

constexpr int kInt64 = 7, kBool = 9, kReal = 1;  // types of ONNX

class ImportFoldingTest : public ImportTest {
 protected:
  ImportFoldingTest() {
    Integers("a", {7, 8, 9});
    valid_ = onnx_;
  }
  // The numbers of value "made"; or the error.
  std::string Made() {
    Node("Reshape", {"f", "made"}, "last");
    onnx_.mutable_graph()->mutable_output(0)->set_name("last");
    const std::string error = Error();
    const std::string before = "reshapes samples of (4,) to ";
    const size_t at = error.find(before);
    if (at == error.npos) return error;
    return error.substr(at + before.size(), error.find(';', at) - at - before.size());
  }
  // Forgets all nodes and constants of the case before.
  void Begin() { onnx_ = valid_; }
  std::string Of(const std::string& type, const std::vector<std::string>& inputs) {
    Node(type, inputs, "made");
    return Made();
  }

  onnx::ModelProto valid_;
};

TEST_F(ImportFoldingTest, Shapes) {
  const auto shape = [&](std::vector<std::pair<std::string, int64_t>> attributes) {
    Begin();
    onnx::NodeProto& node = Node("Shape", {"c"}, "made");
    for (const auto& [name, value] : attributes) Int(node, name, value);
    return Made();
  };
  EXPECT_EQ(shape({{"start", 1}}), "(4, 4, 5)");
  EXPECT_EQ(shape({{"start", 2}}), "(4, 5)");
  EXPECT_EQ(shape({{"start", 1}, {"end", 3}}), "(4, 4)");
  EXPECT_EQ(shape({{"start", -1}}), "(5)");
  EXPECT_EQ(shape({{"start", -3}, {"end", -1}}), "(4, 4)");
  EXPECT_EQ(shape({{"start", 3}, {"end", 99}}), "(5)");
  EXPECT_EQ(shape({{"start", 3}, {"end", 2}}), "()");
  Begin();
  Node("Shape", {"w"}, "made");
  EXPECT_EQ(Made(), "(4, 3, 2, 2)");
}

TEST_F(ImportFoldingTest, PartsOfShapes) {
  const auto slice = [&](int64_t start, int64_t end) {
    Begin();
    Integers("start", {start}), Integers("end", {end});
    return Of("Slice", {"a", "start", "end"});
  };
  EXPECT_EQ(slice(1, 3), "(8, 9)");
  EXPECT_EQ(slice(0, 1), "(7)");
  EXPECT_EQ(slice(-2, INT64_MAX), "(8, 9)");
  EXPECT_EQ(slice(INT64_MIN + 1, 2), "(7, 8)");
  EXPECT_EQ(slice(0, -1), "(7, 8)");
  EXPECT_EQ(slice(2, 1), "()");
  EXPECT_EQ(slice(9, 12), "()");
  const auto parts = [&](const std::vector<int64_t>& starts, const std::vector<int64_t>& axes,
                         const std::vector<int64_t>& steps) {
    Begin();
    Integers("starts", starts), Integers("ends", std::vector<int64_t>(starts.size(), 3));
    Integers("axes", axes), Integers("steps", steps);
    return Of("Slice", {"a", "starts", "ends", "axes", "steps"});
  };
  EXPECT_EQ(parts({1}, {0}, {1}), "(8, 9)");
  EXPECT_THAT(parts({1}, {1}, {1}), HasSubstr("slices other than a part of a shape"));
  EXPECT_THAT(parts({1}, {0}, {2}), HasSubstr("slices other than a part of a shape"));
  EXPECT_THAT(parts({1}, {0, 1}, {1}),
              HasSubstr("has 1 starts, 1 ends, 2 axes and 1 steps; expected as many of each"));
  EXPECT_THAT(parts({1, 1}, {0, 1}, {1, 1}), HasSubstr("slices other than a part of a shape"));
  EXPECT_THAT(parts({1}, {0}, {-1}), HasSubstr("slices in steps of -1; steps from 1 on are read"));
  EXPECT_THAT(parts({1}, {0}, {0}), HasSubstr("slices in steps of 0"));
  Begin();
  onnx::NodeProto& older = Node("Slice", {"a"}, "made");
  Ints(older, "starts", {1}), Ints(older, "ends", {2});
  EXPECT_EQ(Made(), "(8)");
}

TEST_F(ImportFoldingTest, NumbersByTheirPlaces) {
  const auto gather = [&](const std::vector<int64_t>& places, int64_t axis = 0) {
    Begin();
    Integers("places", places);
    Int(Node("Gather", {"a", "places"}, "made"), "axis", axis);
    return Made();
  };
  EXPECT_EQ(gather({2, 0, 2}), "(9, 7, 9)");
  EXPECT_EQ(gather({-1, -3}), "(9, 7)");
  EXPECT_THAT(gather({3}), HasSubstr("names axis 3 of 3 axes"));
  EXPECT_THAT(gather({-4}), HasSubstr("names axis -4 of 3 axes"));
  EXPECT_THAT(gather({0}, 1), HasSubstr("gathers not from a shape"));
  Begin();
  Tensor("real", {1});
  EXPECT_THAT(Of("Gather", {"a", "real"}), HasSubstr("gathers not from a shape"));
}

TEST_F(ImportFoldingTest, Arithmetic) {
  const auto with = [&](const std::string& type, const std::vector<int64_t>& b) {
    Begin();
    Integers("b", b);
    return Of(type, {"a", "b"});
  };
  EXPECT_EQ(with("Add", {1, -2, 3}), "(8, 6, 12)");
  EXPECT_EQ(with("Sub", {1, -2, 3}), "(6, 10, 6)");
  EXPECT_EQ(with("Mul", {2}), "(14, 16, 18)");
  EXPECT_EQ(with("Div", {2}), "(3, 4, 4)");
  EXPECT_EQ(with("Mod", {4}), "(3, 0, 1)");
  EXPECT_EQ(with("Equal", {7, 8, 0}), "(1, 1, 0)");
  Begin();
  EXPECT_EQ(Of("ReduceProd", {"a"}), "(504)");
  Begin();
  Integers("two", {2});
  Int(Node("Mod", {"a", "two"}, "made"), "fmod", 1);
  EXPECT_THAT(Made(), HasSubstr("its attribute \"fmod\" is not 0"));
}

TEST_F(ImportFoldingTest, Ranges) {
  const auto range = [&](int64_t start, int64_t end, int64_t step) {
    Begin();
    Integers("start", {start}), Integers("end", {end}), Integers("step", {step});
    return Of("Range", {"start", "end", "step"});
  };
  EXPECT_EQ(range(2, 11, 3), "(2, 5, 8)");
  EXPECT_EQ(range(2, 12, 3), "(2, 5, 8, 11)");
  EXPECT_EQ(range(5, -1, -2), "(5, 3, 1)");
  Begin();
  EXPECT_THAT(Of("Range", {"a", "a", "a"}), HasSubstr("its input 0 is not one whole number"));
}

TEST_F(ImportFoldingTest, CopiesAndChoices) {
  Integers("three", {3});
  onnx::AttributeProto& value = *Node("ConstantOfShape", {"three"}, "made").add_attribute();
  value.set_name("value");
  value.mutable_t()->set_data_type(kInt64);
  value.mutable_t()->add_int64_data(6);
  EXPECT_EQ(Made(), "(6, 6, 6)");
  Begin();
  Integers("three", {3});
  EXPECT_THAT(Of("ConstantOfShape", {"three"}), HasSubstr("other than copies of a whole number"));
  Begin();
  Integers("three", {3}), Integers("two", {2});
  EXPECT_EQ(Of("Expand", {"three", "two"}), "(3, 3)");
  Begin();
  Integers("b", {7, 0, 9}), Integers("c1", {1, 2, 3});
  Node("Equal", {"a", "b"}, "same");
  EXPECT_EQ(Of("Where", {"same", "a", "c1"}), "(7, 2, 9)");
  for (const char* input : {"same", "a", "short"}) {
    Begin();
    Integers("same", {1, 0, 1}), Integers("short", {1, 2});
    std::vector<std::string> inputs = {"same", "a", "a"};
    inputs[input == std::string("same") ? 0 : input == std::string("a") ? 1 : 2] = "short";
    EXPECT_THAT(Of("Where", inputs), HasSubstr("; expected one shape")) << input;
  }
}

TEST_F(ImportFoldingTest, TypesAndViews) {
  Integers("b", {0, 5});
  Int(Node("Cast", {"b"}, "bool"), "to", kBool);
  Int(Node("Cast", {"bool"}, "made"), "to", kInt64);
  EXPECT_EQ(Made(), "(0, 1)");
  Begin();
  Tensor("real", {2});
  Int(Node("Cast", {"real"}, "made"), "to", kInt64);
  EXPECT_THAT(Made(), HasSubstr("casts real to whole numbers"));
  Begin();
  Int(Node("Cast", {"a"}, "real"), "to", kReal);
  EXPECT_THAT(Of("Identity", {"real"}), HasSubstr("is not a list of whole numbers"));
  // The dims of a constant that is reshaped.
  const auto reshaped = [&](const std::vector<int64_t>& shape) {
    Begin();
    Integers("six", {1, 2, 3, 4, 5, 6}), Integers("shape", shape);
    Node("Reshape", {"six", "shape"}, "viewed");
    return Of("Shape", {"viewed"});
  };
  EXPECT_EQ(reshaped({2, 3}), "(2, 3)");
  EXPECT_EQ(reshaped({3, -1}), "(3, 2)");
  EXPECT_EQ(reshaped({-1, 1, 6}), "(1, 1, 6)");
  EXPECT_THAT(reshaped({4, -1}), HasSubstr("reshapes a constant of shape (6)"));
  EXPECT_THAT(reshaped({5}), HasSubstr("reshapes a constant of shape (6)"));
  Begin();
  Ints(Node("Unsqueeze", {"a"}, "viewed"), "axes", {0, 2});
  EXPECT_EQ(Of("Shape", {"viewed"}), "(1, 3, 1)");
  Begin();
  Ints(Node("Unsqueeze", {"a"}, "viewed"), "axes", {-1});
  EXPECT_EQ(Of("Shape", {"viewed"}), "(3, 1)");
  Begin();
  Ints(Node("Unsqueeze", {"a"}, "viewed"), "axes", {0, 0});
  EXPECT_THAT(Of("Shape", {"viewed"}), HasSubstr("names axis 0 twice"));
  Begin();
  EXPECT_THAT(Of("Squeeze", {"a"}), HasSubstr("squeezes a constant of several elements"));
}

TEST_F(ImportFoldingTest, ConstantsOfNodes) {
  Int(Node("Constant", {}, "made"), "value_int", 6);
  EXPECT_EQ(Made(), "(6)");
  Begin();
  Ints(Node("Constant", {}, "made"), "value_ints", {6, 7});
  EXPECT_EQ(Made(), "(6, 7)");
  Begin();
  Node("Constant", {}, "made");
  EXPECT_THAT(Made(), HasSubstr("has no tensor as its attribute \"value\""));
}

TEST_F(ImportFoldingTest, AMatrixIsTurnedRound) {
  Tensor("turned", {2, 4});  // -2 -1 0 1, 2 -2 -1 0
  Ints(Insert("Transpose", {"turned"}, 2), "perm", {1, 0});
  At(4).set_input(0, "f"), At(4).set_input(1, "new");
  const auto imported = Import();
  ASSERT_EQ(imported.status(), absl::OkStatus());
  const auto weights = imported->store->Value(4, 0);
  EXPECT_EQ(std::vector<float>(weights.data<float>(), weights.data<float>() + 8),
            (std::vector<float>{-2, 2, -1, -2, 0, -1, 1, 0}));
  At(3).mutable_attribute(0)->set_ints(0, 0);
  EXPECT_THAT(Error(), HasSubstr("transposes a constant of shape (2, 4)"));
}

}  // namespace
}  // namespace dtnn
