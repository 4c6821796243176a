#include "data/images/image_files.h"

#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "data/testing/idx_files.h"
#include "data/testing/image_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using Names = std::vector<std::string>;

TEST(ImageFilesTest, NamesTellAndWhereTheyDoNotTheFirstBytes) {
  const std::string root = testing::NewFolder("image_files");
  std::filesystem::create_directories(root + "/b");
  const testing::Bytes jpeg = testing::FlatJpeg(4, 4, {1, 2, 3}), noise = {1, 2, 3};
  testing::WriteFile(root, "Thumbs.db", noise);
  testing::WriteFile(root, "b/no_ending", jpeg);
  testing::WriteFile(root, "b/wrong.txt",
                     testing::EncodePng(1, 1, testing::SmoothPixels(1, 1, 3, 1)));
  testing::WriteFile(root, "b/damaged.JPeG", noise);
  testing::WriteFile(root, "b/empty.png", {});
  testing::WriteFile(root, "b/empty", {});
  ASSERT_EQ(mkfifo((root + "/b/pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink("nowhere", root + "/dangling");
  const ImageFiles files = *ImageFilesBelow(root);
  EXPECT_EQ(files.images, (Names{"b/damaged.JPeG", "b/empty.png", "b/no_ending", "b/wrong.txt"}));
  Names others;
  for (const auto& other : files.others) others.push_back(other.path);
  EXPECT_EQ(others, (Names{"Thumbs.db", "b/empty", "b/pipe", "dangling"}));
  EXPECT_EQ(ImageFilesBelow(root + "/none").status().code(), absl::StatusCode::kNotFound);
}

TEST(ImageFilesTest, ImagesOfOtherKindsAreNamed) {
  const std::string root = testing::NewFolder("other_images");
  testing::WriteFile(root, "a.webp",
                     testing::Bytes{'R', 'I', 'F', 'F', 1, 0, 0, 0, 'W', 'E', 'B', 'P'});
  testing::WriteFile(root, "b.txt", testing::Bytes{1});
  const ImageFiles files = *ImageFilesBelow(root);
  ASSERT_EQ(files.others.size(), 2u);
  EXPECT_EQ(files.others[0].contents, "a WebP image");
  EXPECT_EQ(files.others[1].contents, "");
}

TEST(ImageFilesTest, ManySkippedFilesAreOneLineWithTheirKinds) {
  SkippedFiles skipped;
  EXPECT_EQ(skipped.Describe(), "");
  skipped.Add("a", {.images = {"1"}, .others = {}});
  EXPECT_EQ(skipped.Describe(), "");
  skipped.Add("b", {.images = {}, .others = {{"x", ""}}});
  EXPECT_EQ(skipped.Describe(), "1 file is not a JPEG or PNG image and is skipped: b/x");
  skipped.Add("c", {.images = {}, .others = {{"y", ""}, {"1.webp", "a WebP image"}, {"z", ""}}});
  skipped.Add("c",
              {.images = {}, .others = {{"2.webp", "a WebP image"}, {"q", "an HTML page (!)"}}});
  EXPECT_EQ(skipped.Describe(),
            "6 files are not JPEG or PNG images and are skipped: c/q (an HTML page), "
            "c/1.webp (a WebP image) and 1 more such, b/x and 2 more");
  EXPECT_EQ(skipped.count(), 6);
}

}  // namespace
}  // namespace dtnn
