#include "apps/program/program_command.h"

#include <filesystem>
#include <fstream>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(ProgramCommandTest, ProgramsAreCalledAsTheyAreInstalled) {
  const std::filesystem::path root = std::filesystem::path(::testing::TempDir()) / "command";
  const auto file = [&](const char* path) {
    std::filesystem::create_directories((root / path).parent_path());
    std::ofstream(root / path) << "x";
    return root / path;
  };
  const auto packaged = file("usr/lib/dtnn/bin/predict");
  const auto installed = file("home/lib/dtnn/bin/predict");
  file("usr/lib/dtnn/programs");
  EXPECT_EQ(ProgramCommand("predict", "/x/bazel-out/k8-opt/bin/apps/import/import"),
            "bazel run //apps:predict --");
  EXPECT_EQ(ProgramCommand("predict", packaged), "dtnn predict");
  EXPECT_EQ(ProgramCommand("predict", installed), "predict") << "a prefix of the same name";
}

TEST(ProgramCommandTest, DocumentsAreWhereTheyAreInstalled) {
  const std::filesystem::path root = std::filesystem::path(::testing::TempDir()) / "documents";
  for (const char* folder : {"usr/lib/dtnn/bin", "home/bin", "home/share/doc/dtnn/docs"}) {
    std::filesystem::create_directories(root / folder);
  }
  std::ofstream(root / "usr/lib/dtnn/programs") << "x";
  EXPECT_EQ(DocumentsFolder("/x/bazel-out/k8-opt/bin/apps/import/import"), "docs/");
  EXPECT_EQ(DocumentsFolder(root / "usr/lib/dtnn/bin/predict"), "/usr/share/doc/dtnn/docs/");
  EXPECT_EQ(DocumentsFolder(root / "home/bin/predict"),
            (root / "home/share/doc/dtnn/docs/").string());
  EXPECT_EQ(DocumentsFolder(root / "elsewhere/bin/predict"), "docs/");
}

TEST(ProgramCommandTest, ThisTestIsBazels) {
  EXPECT_EQ(ProgramCommand("inspect"), "bazel run //apps:inspect --");
  EXPECT_EQ(InstalledCommand("inspect"), "inspect");
}

}  // namespace
}  // namespace dtnn
