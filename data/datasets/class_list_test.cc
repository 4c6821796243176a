#include "data/datasets/class_list.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string FolderWith(const std::string& text) {
  const std::string folder = ::testing::TempDir() + "/class_list";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  std::ofstream(folder + "/classes.txt", std::ios::binary) << text;
  return folder;
}

TEST(ClassListTest, ALineIsAName) {
  for (const char* text : {"a b\nc\nd", "a b\nc\nd\n", "a b\r\nc\r\nd\r\n\n"}) {
    const auto names = ReadClassList(FolderWith(text), 3);
    ASSERT_TRUE(names.ok()) << names.status();
    EXPECT_THAT(*names, ElementsAre("a b", "c", "d"));
  }
}

TEST(ClassListTest, WithoutTheFileThereAreNoNames) {
  const std::string folder = FolderWith("");
  std::filesystem::remove(folder + "/classes.txt");
  EXPECT_THAT(*ReadClassList(folder, 3), IsEmpty());
}

TEST(ClassListTest, WhatIsWrongIsNamed) {
  const std::string longest(255, 'x');
  EXPECT_TRUE(ReadClassList(FolderWith(longest), 1).ok());
  const struct {
    std::string text, error;
  } cases[] = {
      {"", "line 1: expected the name of class 0, "},
      {"a\n\nc\n", "line 2: expected the name of class 1, "},
      {"a\nb\n", "classes.txt: has fewer names than there are classes; expected 3"},
      {"a\nb\nc\nd\n", "has more names"},
      {"a\nb\na\n", "line 3: a appears twice"},
      {"a\n\x1b[2Jb\nc\n", "line 2: expected"},
      {"a\ngr\xfcn\nc\n", "line 2: expected"},
      {std::string("a\0b\nc\nd\n", 8), "line 1: expected"},
      {longest + "x\nb\nc\n",
       "line 1: expected the name of class 0, UTF-8 text of 1 to 255 bytes without control "
       "characters, not \"" +
           std::string(80, 'x') + "...\""},
  };
  for (const auto& c : cases) {
    const auto names = ReadClassList(FolderWith(c.text), 3);
    EXPECT_TRUE(absl::IsInvalidArgument(names.status())) << c.text;
    EXPECT_THAT(std::string(names.status().message()), HasSubstr(c.error));
  }
}

}  // namespace
}  // namespace dtnn
