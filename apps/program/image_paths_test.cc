#include "apps/program/image_paths.h"

#include <filesystem>
#include <string>
#include <vector>

#include "data/testing/idx_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using testing::Bytes;
using ::testing::ElementsAre;
namespace fs = std::filesystem;

void Touch(const std::string& folder, const std::string& name) {
  fs::create_directories(fs::path(folder + "/" + name).parent_path());
  testing::WriteFile(folder, name, Bytes{1});
}

TEST(ImagePathsTest, FoldersStandForTheirImagesInOrder) {
  const std::string folder = testing::NewFolder("image_paths");
  for (const char* name : {"b/2.png", "b/deep/1.JPG", "b/notes.txt", "a.png"}) Touch(folder, name);
  SkippedFiles skipped;
  const auto files =
      ExpandImagePaths(std::vector<std::string>{folder + "/none.png", folder + "/b",
                                                folder + "/b/notes.txt", folder + "/a.png"},
                       skipped);
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_THAT(*files,
              ElementsAre(folder + "/none.png", folder + "/b/2.png", folder + "/b/deep/1.JPG",
                          folder + "/b/notes.txt", folder + "/a.png"));
  EXPECT_EQ(skipped.Describe(),
            "1 file is not a JPEG or PNG image and is skipped: " + folder + "/b/notes.txt");
}

TEST(ImagePathsTest, ClassesAreLinesOrFolders) {
  const std::string folder = testing::NewFolder("class_names");
  const std::string text = "ant\nbee\n";
  const std::string file = testing::WriteFile(folder, "names.txt", Bytes(text.begin(), text.end()));
  EXPECT_THAT(*ReadClassNames(file), ElementsAre("ant", "bee"));
  EXPECT_EQ(ReadClassNames(folder).status().message(),
            folder +
                ": contains no class names; expected a file with one name per line, or a "
                "folder with one folder per class");
  Touch(folder, "dog/1.png");
  Touch(folder, "cat/1.png");
  EXPECT_THAT(*ReadClassNames(folder), ElementsAre("cat", "dog"));
  Touch(folder, "train/owl/1.png");
  EXPECT_THAT(*ReadClassNames(folder), ElementsAre("owl")) << "those that are trained on";
  EXPECT_TRUE(absl::IsNotFound(ReadClassNames(folder + "/none").status()));
}

}  // namespace
}  // namespace dtnn
