#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/onnx/testing/import_fixture.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;

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

// A logarithm of a sigmoid is three operators; without the first, it would be that of -x.
TEST_F(ImportTest, ASoftplusIsReadWithBothItsSignsOnly) {
  Insert("Softplus", {"c"});
  EXPECT_THAT(Error(), HasSubstr("is read as -Softplus(-x) alone"));
  At(1).set_output(0, "softplus");
  Insert("Neg", {"softplus"}, 1);
  EXPECT_THAT(Error(), HasSubstr("is read as -Softplus(-x) alone"));
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
  Int(split, "axis", 2);
  EXPECT_THAT(Error(),
              HasSubstr("divides axis 2 of (N, 4, 4, 5); only channels of images are divided"));
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
  for (const char* input : {"two", "two", "one"}) split.add_input(input);
  EXPECT_THAT(Error(), HasSubstr("takes no channel of an image of (4, 4, 5)"));
  split.set_input(3, "two");
  EXPECT_THAT(Error(), HasSubstr("divides axis 2"));
}

}  // namespace
}  // namespace dtnn
