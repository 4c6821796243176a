#include "tensor/text/one_line.h"

#include <string_view>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(OneLineTest, KeepsTextAndEscapesTheRest) {
  EXPECT_EQ(OneLine("año 数"), "año 数");
  EXPECT_EQ(OneLine(std::string_view("a\0b\x7f", 4)), "a\\x00b\\x7f");
  EXPECT_EQ(OneLine("\xff\xc3"), "\\xff\\xc3");  // never in UTF-8, cut sequence
  EXPECT_EQ(OneLine("\xc2\x9b"
                    "m"),
            "\\xc2\\x9bm");                      // a control character of two bytes
  EXPECT_EQ(OneLine("\xc0\xaf"), "\\xc0\\xaf");  // overlong
}

TEST(OneLineTest, CutsLongTexts) {
  EXPECT_EQ(OneLine("abcdef", 6), "abcdef");
  EXPECT_EQ(OneLine("abcdefg", 6), "abcdef...");
}

}  // namespace
}  // namespace dtnn
