#include "tensor/text/json_text.h"

#include <limits>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(JsonTextTest, TextsStayValidJson) {
  EXPECT_EQ(JsonText("a \"b\" é"), "\"a \\\"b\\\" é\"");
  EXPECT_EQ(JsonText(std::string("\x01\xff", 2)), "\"\\\\x01\\\\xff\"");
  EXPECT_EQ(JsonText("c:\\d\n"), "\"c:\\\\d\\\\n\"");
}

TEST(JsonTextTest, NumbersReadBackOrAreNull) {
  EXPECT_EQ(JsonNumber(0.1), "0.1");
  EXPECT_EQ(JsonNumber(-3), "-3");
  EXPECT_EQ(JsonNumber(std::numeric_limits<double>::quiet_NaN()), "null");
  EXPECT_EQ(JsonNumber(-std::numeric_limits<double>::infinity()), "null");
}

}  // namespace
}  // namespace dtnn
