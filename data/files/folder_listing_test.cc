#include "data/files/folder_listing.h"

#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "data/testing/idx_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using Names = std::vector<std::string>;
namespace fs = std::filesystem;

std::string Tree() {
  const std::string root = testing::NewFolder("folder_listing");
  for (const char* folder : {"b", "a/deep", ".git"}) fs::create_directories(root + "/" + folder);
  for (const char* name : {"z", "B", ".hidden", "a/2", "a/deep/1", ".git/x"}) {
    testing::WriteFile(root, name, testing::Bytes{1});
  }
  return root;
}

TEST(FolderListingTest, ListsAreSortedAndWithoutHiddenNames) {
  const std::string root = Tree();
  EXPECT_EQ(*FoldersIn(root), (Names{"a", "b"}));
  EXPECT_EQ(*FilesIn(root), (Names{"B", "z"}));
  EXPECT_EQ(*FilesBelow(root), (Names{"B", "a/2", "a/deep/1", "z"}));
  EXPECT_EQ(*FilesBelow(root + "/b"), Names());
  Names many;  // more than any order of a folder has right by chance
  for (int i = 100; i < 200; ++i) many.push_back(std::to_string(i));
  for (size_t i = 0; i < many.size(); ++i) {
    const std::string& name = many[i * 37 % many.size()];
    testing::WriteFile(root + "/b", name, testing::Bytes{1});
    fs::create_directories(root + "/a/deep/" + name);
  }
  EXPECT_EQ(*FilesIn(root + "/b"), many);
  EXPECT_EQ(*FilesBelow(root + "/b"), many);
  EXPECT_EQ(*FoldersIn(root + "/a/deep"), many);
}

TEST(FolderListingTest, LinksAreFollowedButNotRoundAndRound) {
  const std::string root = Tree();
  fs::create_directory_symlink(root, root + "/a/up");
  fs::create_directory_symlink(root + "/a", root + "/b/again");
  fs::create_directory_symlink("self", root + "/self");
  EXPECT_EQ(*FilesBelow(root), (Names{"B", "a/2", "a/deep/1", "self", "z"}));
  EXPECT_EQ(*FilesBelow(root + "/b"),
            (Names{"again/2", "again/deep/1", "again/up/B", "again/up/self", "again/up/z"}));
}

TEST(FolderListingTest, LinksAreReported) {
  const std::string root = Tree();
  fs::create_directory_symlink(root + "/a", root + "/b/again");
  fs::create_directory_symlink(root + "/a", root + "/link");
  fs::create_symlink(root + "/z", root + "/a/deep/z");
  for (const auto& [folder, expected] :
       {std::pair("/b", true), {"/a", true}, {"/link", true}, {"/a/deep", true}}) {
    bool links = false;
    EXPECT_TRUE(FilesBelow(root + folder, &links).ok());
    EXPECT_EQ(links, expected) << folder;
  }
  fs::remove(root + "/a/deep/z");
  bool links = false;
  EXPECT_TRUE(FilesBelow(root + "/a", &links).ok());
  EXPECT_FALSE(links);
}

TEST(FolderListingTest, NamesOfSystemsAreHidden) {
  const std::string root = Tree();
  fs::create_directories(root + "/__MACOSX");
  EXPECT_EQ(*FoldersIn(root), (Names{"a", "b"}));
  for (const char* name : {".", "._x.jpg", ".git", "__MACOSX"}) EXPECT_TRUE(IsHiddenName(name));
  for (const char* name : {"a.b", "_", "MACOSX", "__MACOSX2", ""}) EXPECT_FALSE(IsHiddenName(name));
}

TEST(FolderListingTest, NothingAndNoFolderAreToldApart) {
  const std::string root = Tree();
  EXPECT_EQ(*LookAt(root + "/none"), PathKind::kNothing);
  EXPECT_EQ(*LookAt(root + "/z/below"), PathKind::kNothing);
  EXPECT_EQ(*LookAt(root + "/z"), PathKind::kFile);
  EXPECT_EQ(*LookAt(root + "/a"), PathKind::kFolder);
  EXPECT_TRUE(CheckFolder(root + "/a").ok());
  for (const auto& list : {FoldersIn, FilesIn}) {
    EXPECT_EQ(list(root + "/none").status(), absl::NotFoundError(root + "/none: no such folder"));
    EXPECT_EQ(list(root + "/z").status(), absl::InvalidArgumentError(root + "/z: is not a folder"));
  }
  EXPECT_FALSE(FilesBelow(root + "/none").ok());
}

// Even for root: with another user's rights on files.
class WithoutRights {
 public:
  WithoutRights() { setfsuid(65534); }
  ~WithoutRights() { setfsuid(geteuid()); }
};

TEST(FolderListingTest, WhatMayNotBeLookedAtIsNotCalledMissing) {
  const std::string root = Tree();
  ASSERT_EQ(chmod((root + "/a").c_str(), 0), 0);
  {
    const WithoutRights without;
    const absl::Status status = LookAt(root + "/a/deep").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
    EXPECT_THAT(std::string(status.message()), HasSubstr("/a/deep: cannot be accessed: Permi"));
    for (const auto& list : {FoldersIn, FilesIn}) {
      EXPECT_EQ(list(root + "/a").status().code(), absl::StatusCode::kPermissionDenied);
    }
    EXPECT_EQ(FilesBelow(root + "/a").status().code(), absl::StatusCode::kPermissionDenied);
    EXPECT_EQ(FilesBelow(root).status().code(), absl::StatusCode::kPermissionDenied);
  }
  ASSERT_EQ(chmod((root + "/a").c_str(), 0700), 0);
  // A link to itself.
  fs::create_directory_symlink("self", root + "/self");
  EXPECT_THAT(std::string(CheckFolder(root + "/self").message()),
              HasSubstr("/self: cannot be accessed: Too many levels of symbolic links"));
}

}  // namespace
}  // namespace dtnn
