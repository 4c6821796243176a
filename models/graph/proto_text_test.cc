#include "models/graph/proto_text.h"

#include <string>

#include "gtest/gtest.h"
#include "models/graph/network.pb.h"

namespace dtnn {
namespace {

TEST(ProtoTextTest, AnyTextAndEveryNumberComeBack) {
  proto::Attribute attribute;
  attribute.set_text("a\"b\n\xff\xc3\xbc");
  attribute.set_real(0.1 + 0.2);
  attribute.set_integer(INT64_MIN);
  const std::string text = ProtoText(attribute);
  for (const char c : text) EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~')) << int(c);
  proto::Attribute back;
  ASSERT_TRUE(ParseProtoText(text, back).ok()) << text;
  EXPECT_EQ(back.text(), attribute.text());
  EXPECT_EQ(back.real(), attribute.real());
  EXPECT_EQ(back.integer(), attribute.integer());
}

TEST(ProtoTextTest, MistakesHaveTheirPlace) {
  proto::Network network;
  const auto mistake = [&](const std::string& text) {
    return std::string(ParseProtoText(text, network).message());
  };
  const std::string unknown = mistake("version: 1\nnode { nom: \"x\" }");
  EXPECT_EQ(unknown.substr(0, 15), "line 2, column ");
  EXPECT_NE(unknown.find("\"nom\""), std::string::npos) << unknown;
  EXPECT_EQ(mistake("version: x").substr(0, 16), "line 1, column 1");
  EXPECT_NE(mistake("node {"), "");
  EXPECT_EQ(mistake(std::string(size_t{1} << 23, ' ')), "");
  EXPECT_EQ(mistake(std::string((size_t{1} << 23) + 1, ' ')),
            "has 8388609 bytes; at most 8388608 are allowed");
}

}  // namespace
}  // namespace dtnn
