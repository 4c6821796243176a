#include "tensor/text/utf8.h"

#include <string>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(Utf8Test, CharactersOfEveryLength) {
  EXPECT_EQ(Utf8Length("a"), 1);
  EXPECT_EQ(Utf8Length("ñandú"), 2);
  EXPECT_EQ(Utf8Length("数"), 3);
  EXPECT_EQ(Utf8Length("\xf0\x9f\x98\x80!"), 4);
  for (const char* last : {"\xdf\xbf", "\xed\x9f\xbf", "\xef\xbf\xbf", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_EQ(Utf8Length(last), std::string_view(last).size());
  }
}

TEST(Utf8Test, WholeTexts) {
  EXPECT_TRUE(IsUtf8(""));
  EXPECT_TRUE(IsUtf8("año 数 \xf0\x9f\x98\x80"));
}

TEST(Utf8Test, WhatIsNotWellFormed) {
  for (const char* text : {
           "\x80", "\xff", "\xf5\x80\x80\x80",              // never first
           "\xc3", "\xe6\x95", "\xf0\x9f\x98",              // cut
           "\xc3(", "\xe6(\x80", "\xe6\x95(",               // no continuation
           "\xc0\xaf", "\xe0\x80\x80", "\xf0\x80\x80\x80",  // overlong
           "\xed\xa0\x80",                                  // a surrogate
           "\xf4\x90\x80\x80"                               // above U+10FFFF
       }) {
    EXPECT_FALSE(IsUtf8(std::string("a") + text));
    EXPECT_EQ(Utf8Length(text), 0) << ::testing::PrintToString(text);
  }
}

}  // namespace
}  // namespace dtnn
