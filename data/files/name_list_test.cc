#include "data/files/name_list.h"

#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(NameListTest, GivesBackWhatWasAdded) {
  NameList names;
  EXPECT_EQ(names.size(), 0);
  names.Add("first");
  names.Add("");
  names.Add("a/third");
  EXPECT_EQ(names.size(), 3);
  EXPECT_EQ(names[0], "first");
  EXPECT_EQ(names[1], "");
  EXPECT_EQ(names[2], "a/third");
}

}  // namespace
}  // namespace dtnn
