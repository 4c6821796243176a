#include <cmath>
#include <tuple>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/onnx/testing/import_fixture.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;

TEST_F(ImportTest, BatchNormalizationsAreChecked) {
  Tensor("ones", {4});
  onnx_.mutable_graph()->mutable_initializer(2)->clear_float_data();
  for (int i = 0; i < 4; ++i) onnx_.mutable_graph()->mutable_initializer(2)->add_float_data(1);
  onnx::NodeProto& node = Insert("BatchNormalization", {"c", "ones", "ones", "ones", "ones"});
  ASSERT_EQ(Import().status(), absl::OkStatus());
  onnx::AttributeProto& attribute = *node.add_attribute();
  const std::tuple<const char*, float, const char*> cases[] = {
      {"epsilon", 0.0F, "has an epsilon of 0"},       {"epsilon", NAN, "has an epsilon of nan"},
      {"epsilon", INFINITY, "has an epsilon of inf"}, {"momentum", -0.5F, "has a momentum of -0.5"},
      {"momentum", 1.5F, "has a momentum of 1.5"},    {"momentum", NAN, "has a momentum of nan"}};
  for (const auto& [name, value, message] : cases) {
    attribute.set_name(name);
    attribute.set_f(value);
    EXPECT_THAT(Error(), HasSubstr(message));
  }
  node.clear_attribute();
  Tensor("variance", {4});
  node.set_input(4, "variance");
  EXPECT_THAT(Error(), HasSubstr("its running variance has the negative number -2"));
}

TEST_F(ImportTest, NormalisationsWithinSamplesAreChecked) {
  Tensor("each", {4});
  Tensor("pair", {2});
  onnx::NodeProto& node = Insert("GroupNormalization", {"c", "each", "each"});
  Int(node, "num_groups", 2);
  EXPECT_EQ(Import().status(), absl::OkStatus());
  node.set_input(1, "pair");  // opset 18: a number per group
  const auto imported = Import();
  ASSERT_EQ(imported.status(), absl::OkStatus());
  const dtnn::Tensor gamma = imported->store->Value(2, /*gamma*/ 1);
  EXPECT_THAT(std::vector(gamma.data<float>(), gamma.data<float>() + 4),
              ::testing::ElementsAre(-2, -2, -1, -1));
  node.mutable_attribute(0)->set_i(3);
  EXPECT_THAT(Error(), HasSubstr("its attribute \"num_groups\" is 3; expected a divisor of 4"));
  node.clear_attribute();
  node.set_op_type("InstanceNormalization");
  EXPECT_THAT(Error(), HasSubstr("its input 1 has shape (2); layers have one number for each of "
                                 "the 4 channels: (4)"));
  node.set_input(1, "each");
  EXPECT_EQ(Import().status(), absl::OkStatus());
  node.set_op_type("LayerNormalization");
  EXPECT_THAT(Error(), HasSubstr("normalises over other axes than the channels"));
  // Where channels come first, (4) would be a number per column.
  Int(node, "axis", 1);
  EXPECT_THAT(Error(), HasSubstr("its input 1 has shape (4); layers have one number for each of "
                                 "the 4 channels: (4, 1, 1)"));
  Tensor("planes", {4, 1, 1});
  Tensor("batch_of_planes", {1, 4, 1, 1});
  node.set_input(1, "planes");
  node.set_input(2, "batch_of_planes");
  EXPECT_EQ(Import().status(), absl::OkStatus());
}

// Files have floats: 1e-5 is 9.99999974737875163555e-06 there.
TEST_F(ImportTest, NumbersAreTheDecimalsThatWereMeant) {
  Tensor("ones", {4});
  for (float& value : *onnx_.mutable_graph()->mutable_initializer(2)->mutable_float_data()) {
    value = 1;
  }
  onnx::NodeProto& norm = Insert("BatchNormalization", {"c", "ones", "ones", "ones", "ones"});
  onnx::AttributeProto& epsilon = *norm.add_attribute();
  epsilon.set_name("epsilon");
  epsilon.set_f(1e-5F);
  for (const double expected : {1e-5, 1e-3, 0.3, double(1e-5F * 3)}) {
    epsilon.set_f(float(expected));
    const auto imported = Import();
    ASSERT_TRUE(imported.ok()) << imported.status();
    const Attributes attributes = imported->model.graph.nodes()[2].layer->attributes();
    AttributeReader read(attributes);
    const double epsilon_read = read.Real("epsilon");
    EXPECT_EQ(float(epsilon_read), float(expected));
    if (double(float(expected)) != expected) {
      EXPECT_EQ(epsilon_read, expected);
    }
  }
}

}  // namespace
}  // namespace dtnn
