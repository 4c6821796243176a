#include "comm/ranks/elastic/elastic_range.h"

#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(ElasticRangeTest, TakesTwoNumbers) {
  const absl::StatusOr<ElasticRange> range = ElasticRange::Parse("2:4");
  ASSERT_TRUE(range.ok());
  EXPECT_EQ(range->min, 2);
  EXPECT_EQ(range->max, 4);
  EXPECT_EQ(range->ToString(), "2:4");
  EXPECT_TRUE(ElasticRange::Parse("1:1").ok());
  EXPECT_TRUE(ElasticRange::Parse("1:1024").ok());
}

TEST(ElasticRangeTest, RefusesAnythingElse) {
  for (const char* text : {"", "2", ":", "2:", ":4", "4:2", "0:4", "-1:4", "+1:4", "1:1025",
                           "1:2:3", "a:b", "1: 2", "1:99999999999999999999"}) {
    const absl::StatusOr<ElasticRange> range = ElasticRange::Parse(text);
    EXPECT_TRUE(absl::IsInvalidArgument(range.status())) << text;
    EXPECT_NE(range.status().message().find("must be MIN:MAX"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace dtnn
