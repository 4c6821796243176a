#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/onnx/testing/import_fixture.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The convolution makes 4 channels of 4 x 5 pixels; a Pad follows it.
class ImportPadTest : public ImportTest {
 protected:
  ImportPadTest() {
    Integers("pads", {0, 0, 1, 2, 0, 0, 3, 0});
    Insert("Pad", {"c", "pads"});
  }
  onnx::TensorProto& Pads() { return *onnx_.mutable_graph()->mutable_initializer(2); }
  // What the layers between the convolution and the pooling say.
  std::vector<std::string> Layers() {
    const auto imported = Import();
    EXPECT_EQ(imported.status(), absl::OkStatus());
    std::vector<std::string> layers;
    if (!imported.ok()) return layers;
    for (const auto& node : imported->model.graph.nodes()) {
      if (node.layer->type_name() == "Pad2D") layers.push_back(node.layer->SettingsCell());
    }
    return layers;
  }
};

TEST_F(ImportPadTest, MirrorsAndEdgesAreLayers) {
  Text(At(1), "mode", "reflect");
  EXPECT_THAT(Layers(), ElementsAre("top 1, bottom 3, left 2, right 0, reflect"));
  At(1).mutable_attribute(0)->set_s("edge");
  EXPECT_THAT(Layers(), ElementsAre("top 1, bottom 3, left 2, right 0, edge"));
  At(1).mutable_attribute(0)->set_s("wrap");
  EXPECT_THAT(Error(), HasSubstr("its attribute \"mode\" is \"wrap\"; images are padded by a "
                                 "constant, mirrored (\"reflect\"), or by their edge"));
  At(1).mutable_attribute(0)->set_s("reflect");
  Pads().set_int64_data(2, 4);
  EXPECT_THAT(Error(), HasSubstr("mirrored rows and columns"));
}

TEST_F(ImportPadTest, SoAreConstantsAndZerosThatNoConvolutionTakesIn) {
  EXPECT_THAT(Layers(), ElementsAre("top 1, bottom 3, left 2, right 0, constant 0"));
  Tensor("value", {}).set_float_data(0, 0.5);
  At(1).add_input("value");
  EXPECT_THAT(Layers(), ElementsAre("top 1, bottom 3, left 2, right 0, constant 0.5"));
}

// Twice the same image: one layer.
TEST_F(ImportPadTest, ReadersShareALayer) {
  Insert("Add", {"new", "new"}, 1).set_output(0, "sum");
  At(2).set_input(0, "new");
  At(2).set_input(1, "new");
  At(3).set_input(0, "sum");
  EXPECT_EQ(Layers().size(), 1);
}

// The first reader makes the layer, and reads it.
TEST_F(ImportPadTest, TheFirstReaderReadsTheLayer) {
  Insert("Mul", {"new", "gate"}, 1).set_output(0, "product");
  At(2).set_input(0, "new");
  At(3).set_input(0, "product");
  Node("GlobalAveragePool", {"c"}, "mean");
  Node("Sigmoid", {"mean"}, "gate");
  for (int i = 0; i < 2; ++i) {  // before the product
    for (int node = onnx_.graph().node_size() - 1; node > 1; --node) {
      onnx_.mutable_graph()->mutable_node()->SwapElements(node, node - 1);
    }
  }
  EXPECT_EQ(Layers().size(), 1);
}

TEST_F(ImportPadTest, TheStepsOfALogarithmReadTheLayer) {
  Insert("Neg", {"new"}, 1).set_output(0, "minus");
  Insert("Softplus", {"minus"}, 2).set_output(0, "plus");
  Insert("Neg", {"plus"}, 3).set_output(0, "log");
  At(2).set_input(0, "new"), At(3).set_input(0, "minus"), At(4).set_input(0, "plus");
  At(5).set_input(0, "log");
  EXPECT_EQ(Layers().size(), 1);
}

TEST_F(ImportPadTest, AxesMayBeNamed) {
  Integers("few", {1, 2, 3, 4});
  Integers("axes", {-1, 2});
  At(1).set_input(1, "few");
  At(1).add_input("");
  At(1).add_input("axes");
  EXPECT_THAT(Layers(), ElementsAre("top 2, bottom 4, left 1, right 3, constant 0"));
  At(1).set_input(1, "pads");
  EXPECT_THAT(Error(), HasSubstr("has 8 pads; an image of 4 axes has two for each"));
}

TEST_F(ImportPadTest, OtherPadsAreRefused) {
  constexpr char kMessage[] = "pads along other axes than height and width, or by less than 0";
  for (const int place : {0, 1, 4, 5}) {
    Pads().set_int64_data(place, 1);
    EXPECT_THAT(Error(), HasSubstr(kMessage)) << place;
    Pads().set_int64_data(place, 0);
  }
  for (const int64_t pad : {int64_t{-1}, INT64_MIN, INT64_MAX}) {
    Pads().set_int64_data(2, pad);
    EXPECT_THAT(Error(), HasSubstr(kMessage)) << pad;
  }
}

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
