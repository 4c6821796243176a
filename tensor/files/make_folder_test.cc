#include "tensor/files/make_folder.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(MakeFolderTest, OnlyTheLastFolderIsMade) {
  const std::string root = ::testing::TempDir() + "/make_folder";
  std::filesystem::remove_all(root);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(MakeFolder(root, "x"), absl::OkStatus());
  EXPECT_EQ(MakeFolder(root + "/one/", "x"), absl::OkStatus());
  EXPECT_TRUE(std::filesystem::is_directory(root + "/one"));
  for (const char* name : {"/none/a", "/none/a//"}) {
    EXPECT_EQ(MakeFolder(root + name, "--dir: cannot be made").message(),
              "--dir: cannot be made: No such file or directory; make " + root +
                  "/none first, or correct the path");
  }
  EXPECT_FALSE(std::filesystem::exists(root + "/none"));
}

TEST(MakeFolderTest, OtherReasonsStandAlone) {
  const std::string root = ::testing::TempDir() + "/make_folder_file";
  std::ofstream(root) << "x";
  EXPECT_EQ(MakeFolder(root + "/a", "x").message(), "x: Not a directory");
  EXPECT_FALSE(MakeFolder(root, "x").ok()) << "a file is not a folder";
  EXPECT_EQ(MakeFolder("", "x").message(), "x: No such file or directory");
}

}  // namespace
}  // namespace dtnn
