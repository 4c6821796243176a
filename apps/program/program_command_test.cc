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

TEST(ProgramCommandTest, ThisTestIsBazels) {
  EXPECT_EQ(ProgramCommand("inspect"), "bazel run //apps:inspect --");
  EXPECT_EQ(InstalledCommand("inspect"), "inspect");
}

}  // namespace
}  // namespace dtnn
