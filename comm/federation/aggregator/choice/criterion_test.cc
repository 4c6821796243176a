#include "comm/federation/aggregator/choice/criterion.h"

#include <string>

#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn::federation {
namespace {

// A client with 500 samples in 20 steps, at a site, with a battery.
bool Fulfils(const std::string& text) {
  const Labels labels = {{"battery", "80.5"}, {"site", "north"}, {"version", "007"}};
  return Must(Criterion::Parse(text))
      .Fulfils({.name = "north-1", .samples = 500, .steps = 20, .labels = labels});
}

TEST(CriterionTest, NumbersAreCompared) {
  for (const char* good :
       {"samples>=500", "samples<=500", "samples=500", "samples!=499", "samples>499", "samples<501",
        "samples=5e2", "steps=20", "battery>80", "battery>=80.5", "version=7", "battery<1e3"}) {
    EXPECT_TRUE(Fulfils(good)) << good;
  }
  for (const char* bad : {"samples>=501", "samples<=499", "samples!=500", "samples>500",
                          "samples<500", "steps<20", "battery>80.5", "version!=7", "battery=80"}) {
    EXPECT_FALSE(Fulfils(bad)) << bad;
  }
}

TEST(CriterionTest, TextsAreEqualOrNot) {
  EXPECT_TRUE(Fulfils("site=north"));
  EXPECT_FALSE(Fulfils("site=South"));
  EXPECT_TRUE(Fulfils("site!=south"));
  EXPECT_FALSE(Fulfils("site!=north"));
  EXPECT_TRUE(Fulfils("name=north-1"));
  EXPECT_FALSE(Fulfils("name!=north-1"));
  EXPECT_TRUE(Fulfils("name!=north-2"));
  EXPECT_FALSE(Fulfils("site>5")) << "not a number";
}

TEST(CriterionTest, AClientWithoutTheLabelFulfilsNoConditionOnIt) {
  for (const char* bad : {"city=a", "city!=a", "city>0", "city<1"})
    EXPECT_FALSE(Fulfils(bad)) << bad;
}

TEST(CriterionTest, AllConditionsMustHold) {
  EXPECT_TRUE(Fulfils("samples>=500,site=north,battery>20"));
  EXPECT_FALSE(Fulfils("samples>=500,site=south,battery>20"));
  EXPECT_FALSE(Fulfils("samples>=501,site=north,battery>20"));
  EXPECT_TRUE(Fulfils("samples>=500,samples<=500")) << "a range";
  EXPECT_TRUE(Fulfils(""));
  EXPECT_TRUE(Must(Criterion::Parse("")).is_of_all());
  EXPECT_TRUE(Criterion().is_of_all());
  EXPECT_EQ(Must(Criterion::Parse("steps>2")).text(), "steps>2");
}

TEST(CriterionTest, OthersAreRefused) {
  const auto why = [](const std::string& text) {
    return std::string(Criterion::Parse(text).status().message());
  };
  const std::string expected =
      ": expected conditions such as samples>=500 or site=north, separated by commas, with =, !=, "
      ">=, <=, > or <";
  for (const std::string bad :
       {"samples", ">=5", "samples>=", "samples=>5", "samples==5", "site=a b", "site~a", "a!b"}) {
    EXPECT_EQ(why(bad), "\"" + bad + "\"" + expected);
  }
  EXPECT_EQ(why("samples>=5,"), "\"\"" + expected);
  EXPECT_EQ(why("samples>=many"), "\"samples>=many\": expected a number after samples>=");
  EXPECT_EQ(why("steps=few"), "\"steps=few\": expected a number after steps=");
  EXPECT_EQ(why("battery<full"), "\"battery<full\": expected a number after battery<");
  EXPECT_EQ(why("battery<nan"), "\"battery<nan\": expected a number after battery<");
  EXPECT_EQ(why("name>5"), "\"name>5\": names are compared with = and != only");
}

TEST(CriterionTest, ThoseThatDoNotFulfilItAreCounted) {
  const Criterion criterion = Must(Criterion::Parse("samples>=500"));
  EXPECT_EQ(TextOfOthers(criterion, 0), "");
  EXPECT_EQ(TextOfOthers(criterion, 1), ", and 1 more does not fulfil samples>=500");
  EXPECT_EQ(TextOfOthers(criterion, 2), ", and 2 more do not fulfil samples>=500");
}

}  // namespace
}  // namespace dtnn::federation
