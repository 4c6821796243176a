#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/onnx/testing/import_fixture.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Rounded up, a fourth window of 3 would begin right after the 5 columns and the padding before
// them: it does not count, and paddings of 1 on both sides make the same three.
TEST_F(ImportTest, AWindowThatBeginsAfterTheImageDoesNotCount) {
  onnx::NodeProto& pool = Insert("MaxPool", {"c"});
  Ints(pool, "kernel_shape", {1, 3});
  Ints(pool, "strides", {1, 2});
  Ints(pool, "pads", {0, 1, 0, 2});
  Int(pool, "ceil_mode", 1);
  const auto imported = Import({.format = TensorFormat::kNCHW});
  ASSERT_EQ(imported.status(), absl::OkStatus());
  EXPECT_EQ(imported->model.graph.nodes()[2].output, Shape({4, 4, 3}));
}

TEST_F(ImportTest, MeansMayCountPadding) {
  onnx::NodeProto& pool = Insert("AveragePool", {"c"});
  Ints(pool, "kernel_shape", {3, 3});
  Ints(pool, "pads", {1, 1, 1, 1});
  const auto settings = [&] { return Import()->model.graph.nodes()[2].layer->SettingsCell(); };
  EXPECT_THAT(settings(), Not(HasSubstr("counts padding")));
  Int(pool, "count_include_pad", 1);
  EXPECT_THAT(settings(), HasSubstr("counts padding"));
  pool.mutable_attribute(1)->set_ints(2, 0);
  EXPECT_THAT(Error(), HasSubstr("is 1, and its paddings differ from side to side"));
  for (int side : {0, 1, 3}) pool.mutable_attribute(1)->set_ints(side, 0);
  EXPECT_THAT(settings(), Not(HasSubstr("counts padding")));
}

TEST_F(ImportTest, ImagesAreMadeLargerByWholeFactors) {
  const auto scales = [&](const std::string& name, const std::vector<float>& values) {
    onnx::TensorProto& tensor = Tensor(name, {int64_t(values.size())});
    for (size_t i = 0; i < values.size(); ++i) tensor.set_float_data(int(i), values[i]);
  };
  const auto imported = [&] {
    const auto model = Import();
    if (!model.ok()) return std::string(model.status().message());
    for (const auto& node : model->model.graph.nodes()) {
      if (node.layer->type_name() == "Upsample2D") return node.layer->SettingsCell();
    }
    return std::string("none");
  };
  scales("twice", {1, 1, 2, 3});
  scales("half", {1, 1, 0.5, 1});
  scales("batch", {2, 1, 2, 2});
  Integers("sizes", {1, 4, 8, 5});  // of images of 4 x 5
  Integers("odd", {1, 4, 6, 5});
  scales("none", {});
  onnx::NodeProto& node = Insert("Resize", {"c", "none", "twice"});
  EXPECT_EQ(imported(), "scale=(2, 3), nearest");
  Text(node, "mode", "linear");
  EXPECT_EQ(imported(), "scale=(2, 3), bilinear");
  Text(node, "coordinate_transformation_mode", "align_corners");
  EXPECT_EQ(imported(), "scale=(2, 3), bilinear, align_corners");
  node.mutable_attribute(1)->set_s("asymmetric");
  EXPECT_THAT(imported(), HasSubstr("are \"linear\", \"asymmetric\" and \"round_prefer_floor\"; "
                                    "layers have what Upsample("));
  node.mutable_attribute(0)->set_s("nearest");
  EXPECT_THAT(imported(), HasSubstr("are \"nearest\", \"asymmetric\" and"));
  Text(node, "nearest_mode", "floor");
  EXPECT_EQ(imported(), "scale=(2, 3), nearest");
  node.mutable_attribute(1)->set_s("half_pixel");
  EXPECT_THAT(imported(), HasSubstr("and \"floor\"; layers"));
  node.mutable_attribute(1)->set_s("asymmetric");
  node.set_input(2, "half");
  EXPECT_THAT(imported(), HasSubstr("resizes images of (4, 4, 5) by other factors than whole "
                                    "numbers along height and width"));
  node.set_input(2, "batch");
  EXPECT_THAT(imported(), HasSubstr("by other factors"));
  node.set_input(2, "");
  node.add_input("sizes");
  EXPECT_EQ(imported(), "scale=(2, 1), nearest");
  node.set_input(3, "odd");
  EXPECT_THAT(imported(), HasSubstr("by other factors"));
  Int(node, "antialias", 1);
  EXPECT_THAT(imported(), HasSubstr("its attribute \"antialias\" is not 0"));
  node.clear_attribute();
  node.clear_input();
  node.add_input("c");
  node.add_input("twice");
  EXPECT_EQ(imported(), "scale=(2, 3), nearest");
  node.set_op_type("Upsample");
  EXPECT_EQ(imported(), "scale=(2, 3), nearest");
}

}  // namespace
}  // namespace dtnn
