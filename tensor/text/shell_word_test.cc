#include "tensor/text/shell_word.h"

#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(ShellWordTest, IsQuotedWhereNeeded) {
  EXPECT_EQ(ShellWord("a-b_c/d.e=1,2:3"), "a-b_c/d.e=1,2:3");
  EXPECT_EQ(ShellWord(""), "''");
  EXPECT_EQ(ShellWord("$(rm x)"), "'$(rm x)'");
  EXPECT_EQ(ShellWord("*"), "'*'");
  EXPECT_EQ(ShellWord("my net's"), "'my net'\\''s'");
}

}  // namespace
}  // namespace dtnn
