#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/onnx/testing/attention_fixture.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ImportPartsTest : public ImportAttentionTest {
 protected:
  onnx::TensorProto& Places(const std::string& name, const std::vector<int64_t>& dims,
                            const std::vector<int64_t>& places) {
    Integers(name, places);
    auto& tensor =
        *onnx_.mutable_graph()->mutable_initializer(onnx_.graph().initializer_size() - 1);
    tensor.mutable_dims()->Assign(dims.begin(), dims.end());
    return tensor;
  }
  // A batch as one axis, and numbers of its elements: those of the first sample, and `step`.
  void AddStrided(const std::vector<int64_t>& dims, const std::vector<int64_t>& places,
                  int64_t step) {
    Integers("all", {-1});
    Places("zero", {}, {0}), Places("one", {}, {1}), Places("step", {}, {step});
    Integers("axes", {1, 2, 3});
    Node("Reshape", {"c", "all"}, "flat");
    onnx::NodeProto& shape = Node("Shape", {"c"}, "batch");
    Int(shape, "start", 0), Int(shape, "end", 1);
    Node("Squeeze", {"batch"}, "n");
    Node("Range", {"zero", "n", "one"}, "samples");
    Node("Mul", {"samples", "step"}, "starts");
    Node("Unsqueeze", {"starts", "axes"}, "column");
    Places("places", dims, places);
    Node("Add", {"column", "places"}, "numbers");
    Int(Node("Gather", {"flat", "numbers"}, "g"), "axis", 0);
  }
};

std::vector<int64_t> Counted(int64_t count) {
  std::vector<int64_t> places;
  for (int64_t i = 0; i < count; ++i) places.push_back(i);
  return places;
}

TEST_F(ImportPartsTest, AStridedViewIsTheImageItself) {
  AddStrided({1, 4, 4, 5}, Counted(80), 80);
  End("g");
  EXPECT_THAT(Layers(), ElementsAre());
}

TEST_F(ImportPartsTest, AStridedViewMayTurnAxes) {
  std::vector<int64_t> places;  // (h, w, c) of (c, h, w)
  for (int64_t i = 0; i < 80; ++i) places.push_back(i % 4 * 20 + i / 4);
  AddStrided({1, 4, 5, 4}, places, 80);
  Ints(Node("Transpose", {"g"}, "t"), "perm", {0, 3, 1, 2});
  End("t");
  EXPECT_THAT(Layers(), ElementsAre());
}

TEST_F(ImportPartsTest, OtherStridedViewsAreRefused) {
  AddStrided({1, 4, 4, 5}, Counted(80), 79);
  End("g");
  const onnx::ModelProto whole = onnx_;
  EXPECT_THAT(Error(), HasSubstr("gathers elements of each sample of the axes (N * 80), by numbers "
                                 "79 apart from sample to sample; read are all 80 elements"));
  auto& graph = *onnx_.mutable_graph();
  const auto set = [&](const std::string& name, int place, int64_t number) {
    for (auto& tensor : *graph.mutable_initializer()) {
      if (tensor.name() == name) tensor.set_int64_data(place, number);
    }
  };
  set("step", 0, 80);
  EXPECT_EQ(Error(), "");
  set("places", 7, 8);
  EXPECT_THAT(Error(), HasSubstr("gathers elements of each sample"));
  set("places", 7, int64_t{1} << 40);
  EXPECT_THAT(Error(), HasSubstr("gathers elements of each sample"));
  set("places", 7, 7);
  set("axes", 0, 0);
  EXPECT_THAT(Error(), HasSubstr("puts an axis before that of the samples"));
  onnx_ = whole;
  for (auto& node : *onnx_.mutable_graph()->mutable_node()) {
    if (node.op_type() == "Gather") node.set_op_type("Reshape"), node.clear_attribute();
  }
  EXPECT_THAT(Error(), HasSubstr("its input 1, \"numbers\", has other numbers for each sample"));
}

TEST_F(ImportPartsTest, PlacesOfAnAxisMayBeItsParts) {
  Places("parts", {2, 2}, {0, 1, 2, 3});
  Int(Node("Gather", {"c", "parts"}, "g"), "axis", 1);
  Node("Reshape", {"g", "image"}, "i");
  End("i");
  EXPECT_THAT(Layers(), ElementsAre());
}

TEST_F(ImportPartsTest, ChannelsAreTakenInAnyOrder) {
  Places("order", {4}, {3, -2, 0, 1});
  onnx::NodeProto& gather = Node("Gather", {"c", "order"}, "g");
  Int(gather, "axis", -3);
  End("g");
  EXPECT_THAT(Layers(), ElementsAre("ChannelSlice channels 3 to 3", "ChannelSlice channels 2 to 2",
                                    "ChannelSlice channels 0 to 1", "ConcatenationBlock "));
  auto& order = *onnx_.mutable_graph()->mutable_initializer(5);
  const auto set = [&](const std::vector<int64_t>& places) {
    order.mutable_int64_data()->Assign(places.begin(), places.end());
  };
  set({0, 2, 1, 3});
  EXPECT_THAT(Layers(), ElementsAre("ChannelShuffle groups=2"));
  set({0, 1, 2, 3});
  EXPECT_THAT(Layers(), ElementsAre());
  set({0, 4, 1, 3});
  EXPECT_THAT(Error(), HasSubstr("takes place 4 of axis 1 of (N, 4, 4, 5)"));
  set({0, 2, 1, 3});
  gather.mutable_attribute(0)->set_i(2);
  EXPECT_THAT(Error(), HasSubstr("gathers 4 places of axis 2 of (N, 4, 4, 5); read are all of "
                                 "them in the order of parts of the axis, and channels"));
  gather.mutable_attribute(0)->set_i(0);
  EXPECT_THAT(Error(),
              HasSubstr("gathers places of axis 0 of (N, 4, 4, 5); places of the channels"));
}

TEST_F(ImportPartsTest, AShuffleHasGroupsAndChannelsOfAGroup) {
  Tensor("w6", {6, 3, 2, 2}), Tensor("m6", {6, 2});
  At(0).set_input(1, "w6");
  Places("order", {6}, {0, 3, 1, 4, 2, 5});
  auto& order = *onnx_.mutable_graph()->mutable_initializer(onnx_.graph().initializer_size() - 1);
  Int(Node("Gather", {"c", "order"}, "g"), "axis", 1);
  End("g");
  At(onnx_.graph().node_size() - 1).set_input(1, "m6");
  EXPECT_THAT(Layers(), ElementsAre("ChannelShuffle groups=2"));
  const std::vector<int64_t> three = {0, 2, 4, 1, 3, 5};
  order.mutable_int64_data()->Assign(three.begin(), three.end());
  EXPECT_THAT(Layers(), ElementsAre("ChannelShuffle groups=3"));
}

TEST_F(ImportPartsTest, ManySlicesAndFeaturesAreRefused) {
  std::vector<int64_t> places;
  for (int64_t i = 0; i < 65; ++i) places.push_back(i % 2 * 2);
  Places("order", {65}, places);
  Int(Node("Gather", {"c", "order"}, "g"), "axis", 1);
  End("g");
  EXPECT_THAT(Error(), HasSubstr("in an order of more than 64 slices"));
  At(1).set_input(0, "f");
  At(4).set_input(0, "g");
  At(2).set_input(0, "c");
  for (int i = 1; i < 3; ++i) onnx_.mutable_graph()->mutable_node()->SwapElements(i, i + 1);
  EXPECT_THAT(Error(), HasSubstr("gathers from samples of shape (4,)"));
}

// The convolution makes 4 channels of 4 x 5 pixels.
TEST_F(ImportTest, AChannelShuffleIsThreeOperators) {
  Integers("groups", {0, 2, -1, 4, 5});
  Integers("back", {-1, 4, 4, 5});
  Insert("Reshape", {"c", "groups"}).set_output(0, "g");
  Insert("Transpose", {"g"}, 1).set_output(0, "t");
  Ints(At(2), "perm", {0, 2, 1, 3, 4});
  Insert("Reshape", {"t", "back"}, 2);
  const auto imported = Import();
  ASSERT_EQ(imported.status(), absl::OkStatus());
  const auto& shuffle = imported->model.graph.nodes()[2];
  EXPECT_EQ(shuffle.layer->type_name(), "ChannelShuffle");
  EXPECT_EQ(shuffle.layer->attributes(), (Attributes{{"groups", int64_t{2}}}));

  onnx::TensorProto& groups = *onnx_.mutable_graph()->mutable_initializer(2);
  groups.set_int64_data(1, 3);
  EXPECT_THAT(Error(), HasSubstr("reshapes samples of (4, 4, 5) to 4 axes that are not groups, "
                                 "channels of a group, height and width"));
  groups.set_int64_data(1, -1);
  EXPECT_NE(Import().status(), absl::OkStatus());  // -1 stands twice
  groups.set_int64_data(1, 2);
  groups.set_int64_data(3, 5);
  EXPECT_NE(Import().status(), absl::OkStatus());
  groups.set_int64_data(3, 4);
  At(2).mutable_attribute(0)->set_ints(3, 4);
  At(2).mutable_attribute(0)->set_ints(4, 3);
  EXPECT_THAT(Error(), HasSubstr("transposes other than"));
  At(2).mutable_attribute(0)->set_ints(3, 3);
  At(2).mutable_attribute(0)->set_ints(4, 4);
  At(3).set_input(0, "g");
  EXPECT_THAT(Error(), HasSubstr("is a step of -Softplus(-x)"));
  At(3).set_input(0, "t");
  onnx_.mutable_graph()->mutable_initializer(3)->set_int64_data(1, 2);
  EXPECT_THAT(Error(), HasSubstr("does not reshape the groups of channels"));
}

TEST_F(ImportTest, ChannelsAreSplitAndSliced) {
  Integers("begin", {-3});
  Integers("end", {INT64_MAX});
  Integers("axis", {1});
  Int(Insert("Concat", {"b", "a", "s"}), "axis", 1);
  Insert("Split", {"c"}).set_output(0, "a");
  Insert("Slice", {"c", "begin", "end", "axis"}).set_output(0, "s");
  onnx::NodeProto& split = At(2);
  split.set_input(0, "c");
  split.add_output("b");
  split.add_output("unused");
  Int(split, "axis", 1);
  Ints(split, "split", {1, 2, 1});
  Tensor("wide", {6, 2});
  At(6).set_input(1, "wide");
  const auto imported = Import();
  ASSERT_EQ(imported.status(), absl::OkStatus());
  std::vector<std::string> slices;
  for (const auto& node : imported->model.graph.nodes()) {
    if (node.layer->type_name() == "ChannelSlice") slices.push_back(node.layer->SettingsCell());
  }
  EXPECT_THAT(slices,
              ::testing::ElementsAre("channels 1 to 3", "channels 0 to 0", "channels 1 to 2"));
}

TEST_F(ImportTest, PartsOfTheChannelsAreChecked) {
  onnx::NodeProto& split = Insert("Split", {"c"});
  split.add_output("rest");
  Int(split, "axis", 0);
  EXPECT_THAT(Error(), HasSubstr("takes a part of axis 0 of (N, 4, 4, 5); only rows, columns, "
                                 "channels and pixels of images are divided, the last two along "
                                 "the outermost of their axes"));
  split.mutable_attribute(0)->set_i(1);
  Ints(split, "split", {1, 2});
  EXPECT_THAT(Error(), HasSubstr("splits an axis of 4 into 2 parts whose sizes do not add up"));
  split.mutable_attribute(1)->set_ints(0, INT64_MAX);
  EXPECT_THAT(Error(), HasSubstr("do not add up"));
  split.mutable_attribute(1)->set_ints(0, 5);
  split.mutable_attribute(1)->set_ints(1, -1);
  EXPECT_THAT(Error(), HasSubstr("do not add up"));
  split.clear_attribute();
  split.mutable_output()->RemoveLast();
  split.set_op_type("Slice");
  Integers("two", {2});
  Integers("one", {1});
  Integers("zero", {0});
  for (const char* input : {"two", "two", "one"}) split.add_input(input);
  EXPECT_THAT(Error(), HasSubstr("takes places 2 to 1 of axis 1 of (N, 4, 4, 5)"));
  split.set_input(3, "zero");
  EXPECT_THAT(Error(), HasSubstr("takes a part of axis 0"));
}

// The convolution makes 4 channels of 4 x 5 pixels.
class ImportSliceTest : public ImportAttentionTest {
 protected:
  // The layers of a Slice of the convolution's output; or why it is refused.
  std::string LayersOf(const std::vector<int64_t>& axes, const std::vector<int64_t>& starts,
                       const std::vector<int64_t>& ends, const std::vector<int64_t>& steps = {}) {
    onnx_ = plain_;
    Integers("axes", axes), Integers("starts", starts), Integers("ends", ends);
    onnx::NodeProto& slice = Node("Slice", {"c", "starts", "ends", "axes"}, "s");
    if (!steps.empty()) Integers("steps", steps), slice.add_input("steps");
    End("s");
    if (std::string error = Error(); !error.empty()) return error;
    std::string layers;
    for (const std::string& layer : Layers()) layers += layer + ".";
    return layers;
  }

  const onnx::ModelProto plain_ = onnx_;
};

constexpr int64_t kEnd = INT64_MAX;

TEST_F(ImportSliceTest, RowsAndColumnsAreOneLayer) {
  EXPECT_EQ(LayersOf({2}, {1}, {3}), "Slice2D rows from 1 on: 2; columns from 0 on.");
  EXPECT_EQ(LayersOf({3}, {1}, {kEnd}), "Slice2D rows from 0 on; columns from 1 on: 4.");
  EXPECT_EQ(LayersOf({-1}, {-4}, {-1}, {2}),
            "Slice2D rows from 0 on; columns from 1 on: 2, step 2.");
  EXPECT_EQ(LayersOf({2}, {INT64_MIN + 1}, {kEnd}, {2}),
            "Slice2D rows from 0 on: 2, step 2; columns from 0 on.");
  EXPECT_EQ(LayersOf({3}, {0}, {kEnd}, {kEnd}),
            "Slice2D rows from 0 on; columns from 0 on: 1, step 9223372036854775807.");
  EXPECT_EQ(LayersOf({2, 3}, {1, 0}, {kEnd, kEnd}, {2, 2}),
            "Slice2D rows from 1 on: 2, step 2; columns from 0 on: 3, step 2.");
}

TEST_F(ImportSliceTest, AnAxisThatIsTakenWholeIsNoLayer) {
  EXPECT_EQ(LayersOf({0}, {0}, {kEnd}), "");
  EXPECT_EQ(LayersOf({0, 1, 2, 3}, {0, 0, 0, 0}, {INT32_MAX, 4, 4, kEnd}), "");
  EXPECT_EQ(LayersOf({0, 1, 2, 3}, {0, 0, -4, 0}, {kEnd, kEnd, kEnd, kEnd}, {1, 1, 1, 2}),
            "Slice2D rows from 0 on; columns from 0 on: 3, step 2.");
}

TEST_F(ImportSliceTest, OtherPlacesAndStepsAreRefused) {
  EXPECT_THAT(LayersOf({2}, {3}, {3}), HasSubstr("takes places 3 to 2 of axis 2 of (N, 4, 4, 5)"));
  EXPECT_THAT(LayersOf({3}, {4}, {-9}, {-1}),
              HasSubstr("operator \"Slice\"): slices in steps of -1"));
  EXPECT_THAT(LayersOf({1}, {0}, {4}, {2}),
              HasSubstr("slices axis 1 of (N, 4, 4, 5) in steps of 2; only rows and columns"));
  EXPECT_THAT(LayersOf({0}, {0}, {1}), HasSubstr("takes a part of axis 0 of (N, 4, 4, 5)"));
  EXPECT_THAT(LayersOf({0}, {1}, {kEnd}), HasSubstr("takes a part of axis 0"));
  EXPECT_THAT(LayersOf({0}, {0}, {-1}), HasSubstr("takes a part of axis 0"));
  EXPECT_THAT(LayersOf({4}, {0}, {1}), HasSubstr("names axis 4 of 4 axes"));
  EXPECT_NE(LayersOf({2, -2}, {0, 1}, {3, 2}).find("twice"), std::string::npos);
  EXPECT_THAT(LayersOf({2, 3}, {0}, {1}), HasSubstr("has 1 starts, 1 ends, 2 axes and 1 steps"));
}

TEST_F(ImportSliceTest, ChannelsMayBeLast) {
  Integers("begin", {0, 1}), Integers("end", {kEnd, kEnd}), Integers("two", {2, 2});
  Integers("axes", {1, 2});
  Turn("c", "last", {0, 2, 3, 1});
  Node("Slice", {"last", "begin", "end", "axes", "two"}, "s");
  Turn("s", "first", {0, 3, 1, 2});
  End("first");
  EXPECT_THAT(Layers(),
              ElementsAre("Slice2D rows from 0 on: 2, step 2; columns from 1 on: 2, step 2"));
}

TEST_F(ImportSliceTest, ColumnsAreSplitAndGathered) {
  onnx::NodeProto& split = Node("Split", {"c"}, "left");
  split.add_output("right");
  Int(split, "axis", 3);
  Integers("parts", {3, 2});
  split.add_input("parts");
  Integers("one", {1});
  onnx_.mutable_graph()->mutable_initializer(onnx_.graph().initializer_size() - 1)->clear_dims();
  Int(Node("Gather", {"right", "one"}, "column"), "axis", 3);
  Integers("image_again", {0, 4, 4, 1});
  Node("Reshape", {"column", "image_again"}, "i");
  End("i");
  EXPECT_THAT(Layers(), ElementsAre("Slice2D rows from 0 on; columns from 3 on: 2",
                                    "Slice2D rows from 0 on; columns from 1 on: 1"));
}

TEST_F(ImportSliceTest, RowsMayBecomeTokens) {
  Integers("one", {1}), Integers("three", {3}), Integers("two", {2});
  Node("Slice", {"c", "one", "three", "two"}, "s");
  Integers("ten", {-1, 4, 10});
  Node("Reshape", {"s", "ten"}, "keys");
  Turn("keys", "queries", {0, 2, 1});
  Node("MatMul", {"queries", "keys"}, "scores");
  Node("MatMul", {"scores", "queries"}, "mixed");
  Turn("mixed", "t", {0, 2, 1});
  Integers("rows", {-1, 4, 2, 5});
  Node("Reshape", {"t", "rows"}, "i");
  End("i");
  EXPECT_THAT(Layers(), ElementsAre("Slice2D rows from 1 on: 2; columns from 0 on",
                                    "ScoresBlock heads 1, factor 1", HasSubstr("WeightedSum")));
}

}  // namespace
}  // namespace dtnn
