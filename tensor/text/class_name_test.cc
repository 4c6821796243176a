#include "tensor/text/class_name.h"

#include <string>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(ClassNameTest, TextOfOneLine) {
  for (const char* name : {"a", "a b", "grün", "数", "\xc2\xa0"}) {
    EXPECT_TRUE(IsClassName(name)) << name;
  }
  EXPECT_TRUE(IsClassName(std::string(255, 'x')));
  EXPECT_FALSE(IsClassName(std::string(256, 'x')));
  EXPECT_FALSE(IsClassName(""));
}

TEST(ClassNameTest, WhatATerminalCouldObeyIsNotAName) {
  for (const std::string& name :
       {std::string("a\0", 2), std::string("\x1b[2J"), std::string("a\nb"), std::string("\x7f"),
        std::string("\xc2\x9b"
                    "2J"),
        std::string("gr\xfcn"), std::string("\xc3")}) {
    EXPECT_FALSE(IsClassName(name)) << name;
  }
}

}  // namespace
}  // namespace dtnn
