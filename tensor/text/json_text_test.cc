#include "tensor/text/json_text.h"

#include <limits>
#include <string>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace dtnn {
namespace {

TEST(JsonTextTest, TextsStayValidJson) {
  EXPECT_EQ(JsonText("a \"b\" é"), "\"a \\\"b\\\" é\"");
  EXPECT_EQ(JsonText(std::string("\x01\xff", 2)), "\"\\u0001\\\\xff\"");
  EXPECT_EQ(JsonText("c:\\d\n"), "\"c:\\\\d\\n\"");
}

TEST(JsonTextTest, AnotherReaderFindsTheSameText) {
  for (const std::string& text :
       {std::string("a\tb\r\n\x1f\x7f"), std::string("\0", 1),
        std::string("año 数 \xf0\x9f\x98\x80 \xc2\x9b"), std::string("\\n is not \n")}) {
    EXPECT_EQ(nlohmann::json::parse(JsonText(text)).get<std::string>(), text);
  }
  // No UTF-8: overlong, a surrogate, cut. The rest stays readable.
  for (const char* text : {"\xe0\x80\x80", "\xed\xa0\x80", "a\xf0\x9f"}) {
    EXPECT_TRUE(nlohmann::json::accept(JsonText(text))) << JsonText(text);
  }
}

TEST(JsonTextTest, NumbersReadBackOrAreNull) {
  EXPECT_EQ(JsonNumber(0.1), "0.1");
  EXPECT_EQ(JsonNumber(-3), "-3");
  EXPECT_EQ(JsonNumber(std::numeric_limits<double>::quiet_NaN()), "null");
  EXPECT_EQ(JsonNumber(-std::numeric_limits<double>::infinity()), "null");
}

}  // namespace
}  // namespace dtnn
