#include <cstdint>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/onnx/testing/import_fixture.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;

// A padded image of 6 x 8 takes no more zeros under strides of 2, where 5 rows would take one: the
// kernel has zeros for the padding before the image alone, and is 3 x 4.
TEST_F(ImportTest, SameCountsThePaddingBefore) {
  Ints(At(0), "strides", {2, 2});
  onnx::AttributeProto& rule = *At(0).add_attribute();
  rule.set_name("auto_pad");
  rule.set_s("SAME_UPPER");
  Integers("pads", {0, 0, 1, 2, 0, 0, 0, 0});
  At(0).set_input(0, "padded");
  Insert("Pad", {"x", "pads"});
  onnx_.mutable_graph()->mutable_node()->SwapElements(0, 1);
  At(0).set_output(0, "padded");
  At(2).set_input(0, "c");
  const auto imported = Import();
  ASSERT_EQ(imported.status(), absl::OkStatus());
  EXPECT_EQ(imported->store->Value(1, 0).num_elements(), 4 * 3 * 3 * 4);
}

TEST_F(ImportTest, TransposedConvolutionsAreChecked) {
  Tensor("t", {4, 1, 2, 2});
  Tensor("three", {3, 1, 2, 2});
  onnx::NodeProto& node = Insert("ConvTranspose", {"c", "t"});
  const auto made = [&] {
    const auto model = Import();
    return model.ok() ? model->model.graph.nodes()[2].layer->SettingsCell()
                      : std::string(model.status().message());
  };
  Int(node, "group", 4);
  Ints(node, "strides", {2, 2});
  EXPECT_EQ(made(), "padd=(0,0), stride=(2,2), dilat=(1,1), groups=4");
  Ints(node, "pads", {1, 0, 0, 0});  // a row less at the end is one more
  EXPECT_EQ(made(), "padd=(1,0), stride=(2,2), dilat=(1,1), output_padding=(1, 0), groups=4");
  node.mutable_attribute(2)->set_ints(2, 2);
  EXPECT_THAT(made(), HasSubstr("its pads after the image differ from those before it by more"));
  node.mutable_attribute(2)->set_ints(2, 1);
  Ints(node, "output_padding", {INT64_MAX, 0});
  EXPECT_THAT(made(), HasSubstr("its output_padding is not from 0 to the stride"));
  node.mutable_attribute()->RemoveLast();
  Ints(node, "output_shape", {8, 10});
  EXPECT_THAT(made(), HasSubstr("has an attribute \"output_shape\" or \"auto_pad\""));
  node.mutable_attribute()->RemoveLast();
  Text(node, "auto_pad", "SAME_UPPER");
  EXPECT_THAT(made(), HasSubstr("has an attribute \"output_shape\" or \"auto_pad\""));
  node.mutable_attribute()->RemoveLast();
  node.mutable_attribute(0)->set_i(int64_t{1} << 62);
  EXPECT_THAT(made(), HasSubstr("its weights of (4, 1, 2, 2) and 4611686018427387904 groups do "
                                "not fit an image of 4 channels"));
  node.mutable_attribute(0)->set_i(3);
  EXPECT_THAT(made(), HasSubstr("groups"));
  node.mutable_attribute(0)->set_i(0);
  EXPECT_THAT(made(), HasSubstr("and 0 groups do not fit"));
  node.mutable_attribute(0)->set_i(1);
  node.set_input(1, "three");
  EXPECT_THAT(made(), HasSubstr("its weights of (3, 1, 2, 2) and 1 groups do not fit"));
}

}  // namespace
}  // namespace dtnn
