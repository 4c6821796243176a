#include "models/graph/network.h"

#include <string>

#include "gtest/gtest.h"
#include "models/graph/builder.h"
#include "models/graph/table.h"

namespace dtnn {
namespace {

Graph Small() {
  GraphBuilder b("small", TensorFormat::kNCHW);
  b.Input({6, 6, 2}).Conv2d(3, {.padding = 1, .bias = false}).BatchNorm();
  b.Add({[](GraphBuilder& p) { p.Relu().Dropout(0.25); }, GraphBuilder::Identity()});
  return *b.MaxPool2d().Flatten().Fc(4).Softmax().Build();
}

TEST(NetworkTest, ComesBackFromItsText) {
  const Graph graph = Small();
  const std::string text = NetworkText(graph);
  const absl::StatusOr<Graph> back = ParseNetwork(text);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(NetworkText(*back), text);
  EXPECT_EQ(back->name(), "small");
  EXPECT_EQ(back->format(), TensorFormat::kNCHW);
  EXPECT_EQ(FormatTable(*back, DType::kFloat32, Device::Cpu()),
            FormatTable(graph, DType::kFloat32, Device::Cpu()));
}

// A file may ask for any geometry: it is refused before anything is bound, up to the very limit of
// 2^22 padded rows times rows of the kernel.
TEST(NetworkTest, GeometryBeyondTheLimitOfAConvolutionIsRefused) {
  const auto with_padding = [](int64_t vertical, int64_t horizontal) {
    proto::Network network = ToProto(Small());
    for (proto::Attribute& attribute : *network.mutable_node(1)->mutable_attribute()) {
      if (attribute.name() != "padding") continue;
      attribute.set_integers(0, vertical);
      attribute.set_integers(1, horizontal);
    }
    return GraphFromProto(network).status();
  };
  // 4194304 / 3 = 1398101 = 6 + 2 * 699047 + 1
  EXPECT_EQ(with_padding(1, 1), absl::OkStatus());
  EXPECT_EQ(with_padding(699048, 1).message(),
            "network \"small\", node \"1_Conv2D\": convolution: padded height is 1398102, expected "
            "at most 1398101 with a kernel of 3");
  EXPECT_EQ(
      with_padding(1, int64_t{1} << 29).message(),
      "network \"small\", node \"1_Conv2D\": convolution: padded width is 1073741830, expected "
      "at most 1398101 with a kernel of 3");
  // Within it here; another layer says what does not fit the other path of the sum.
  EXPECT_EQ(std::string(with_padding(699047, 1).message()).find("padded"), std::string::npos);
}

// One change to the message, and what is said of it.
TEST(NetworkTest, WhatIsWrongIsNamed) {
  const auto mistake = [](void (*change)(proto::Network&)) {
    proto::Network network = ToProto(Small());
    change(network);
    return std::string(GraphFromProto(network).status().message());
  };
  using N = proto::Network;
  EXPECT_EQ(mistake([](N& n) { n.set_version(2); }),
            "network \"small\": has version 2; this program reads version 1");
  EXPECT_EQ(mistake([](N& n) { n.set_format("CHWN"); }),
            "network \"small\": its format is \"CHWN\"; expected NHWC or NCHW");
  EXPECT_EQ(mistake([](N& n) { n.mutable_node(1)->set_type("Conv7D"); }),
            "network \"small\", node \"1_Conv2D\": has type \"Conv7D\", which is not a layer that "
            "this program knows");
  EXPECT_EQ(mistake([](N& n) { n.mutable_node(1)->mutable_attribute(0)->set_integer(-4); }),
            "network \"small\", node \"1_Conv2D\": convolution: filters is -4, must be between 1 "
            "and 1073741824");
  EXPECT_EQ(mistake([](N& n) { n.mutable_node(1)->mutable_attribute(0)->set_real(4); }),
            "network \"small\", node \"1_Conv2D\": attribute \"filters\" has 2 values; expected "
            "one: integer, real, text or integers");
  EXPECT_EQ(mistake([](N& n) { n.mutable_node(1)->mutable_attribute(0)->clear_integer(); }),
            "network \"small\", node \"1_Conv2D\": attribute \"filters\" has 0 values; expected "
            "one: integer, real, text or integers");
  EXPECT_EQ(mistake([](N& n) { n.mutable_node(1)->mutable_attribute(1)->add_integers(1); }),
            "network \"small\", node \"1_Conv2D\": attribute \"kernel\" is [3, 3, 1]; expected two "
            "whole numbers, vertical and horizontal");
  EXPECT_EQ(
      mistake([](N& n) { *n.mutable_node(0)->add_input() = "7_FC"; }),
      "network \"small\", node \"0_Input\": its input \"7_FC\" is not the name of an earlier node");
  EXPECT_EQ(mistake([](N& n) { n.mutable_node(2)->set_id(int64_t{1} << 40); }),
            "network \"small\", node \"2_BatchNormalization\": its id is 1099511627776");
  EXPECT_EQ(mistake([](N& n) { n.mutable_node(2)->set_path(-1); }),
            "network \"small\", node \"2_BatchNormalization\": its path is -1");
  EXPECT_EQ(mistake([](N& n) { n.clear_node(); }),
            "network \"small\": has 0 nodes, expected 1 to 65536");
  EXPECT_EQ(mistake([](N& n) {
              for (int i = 0; i < 3; ++i) {
                n.mutable_node(0)->mutable_attribute(i)->set_integer(int64_t{1} << 62);
              }
            }),
            "network \"small\", node \"0_Input\": a tensor of shape (4611686018427387904, "
            "4611686018427387904, 4611686018427387904) has more than 2^48 elements");
}

}  // namespace
}  // namespace dtnn
