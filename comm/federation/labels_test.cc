#include "comm/federation/labels.h"

#include <string>

#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn::federation {
namespace {

TEST(LabelsTest, LabelsAreReadInTheOrderOfKeys) {
  const Labels labels = Must(ParseLabels("site=north,battery=80,a.B-9_=-0.5"));
  EXPECT_EQ(labels, (Labels{{"a.B-9_", "-0.5"}, {"battery", "80"}, {"site", "north"}}));
  EXPECT_EQ(TextOf(labels), "a.B-9_=-0.5,battery=80,site=north");
  EXPECT_TRUE(Must(ParseLabels("")).empty());
  EXPECT_EQ(TextOf(Labels()), "");
}

TEST(LabelsTest, OthersAreRefused) {
  const auto why = [](const std::string& text) {
    return std::string(ParseLabels(text).status().message());
  };
  const std::string expected = ": expected KEY=VALUE, each of 1 to 64 letters, digits and \"._-\"";
  EXPECT_EQ(why("site"), "a label \"site\": expected KEY=VALUE, such as site=north");
  EXPECT_EQ(why("a=1,"), "a label \"\": expected KEY=VALUE, such as site=north");
  EXPECT_EQ(why("=north"), "a label with \"\"" + expected);
  EXPECT_EQ(why("site="), "a label with \"\"" + expected);
  EXPECT_EQ(why("site=the north"), "a label with \"the north\"" + expected);
  EXPECT_EQ(why("a=b=c"), "a label with \"b=c\"" + expected);
  EXPECT_EQ(why("k=" + std::string(64, 'v')), "");
  EXPECT_NE(why("k=" + std::string(65, 'v')), "");
  EXPECT_EQ(why("a=1,a=2"), "the label a appears twice");
  for (const std::string fact : {"samples", "steps", "name"}) {
    EXPECT_EQ(why(fact + "=5"),
              "a label called " + fact + ": that is known of every client; take another word");
  }
  std::string many = "k0=0";
  for (int i = 1; i < 16; ++i) many += ",k" + std::to_string(i) + "=0";
  EXPECT_EQ(why(many), "");
  EXPECT_EQ(why(many + ",more=0"), "17 labels; a client has 16 at most");
}

}  // namespace
}  // namespace dtnn::federation
