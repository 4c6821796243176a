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
  const auto none = root / "none", dtnn = file("usr/bin/dtnn");
  const auto packaged = file("usr/lib/dtnn/bin/predict"), own = file("home/bin/mine");
  const auto installed = file("home/dtnn/bin/predict");
  const auto command = [](const auto& executable, const auto& dtnn) {
    return ProgramCommand("predict", executable, dtnn);
  };
  EXPECT_EQ(command("/x/bazel-out/k8-opt/bin/apps/import/import", dtnn),
            "bazel run //apps:predict --");
  EXPECT_EQ(command(packaged, dtnn), "dtnn predict");
  EXPECT_EQ(command(packaged, none), "dtnn predict") << "before it is installed";
  EXPECT_EQ(command(installed, dtnn), "predict") << "its neighbours are nearer";
  EXPECT_EQ(command(own, dtnn), "dtnn predict") << "a program of the user's, or Python";
  EXPECT_EQ(command(own, none), "predict");
}

TEST(ProgramCommandTest, ThisTestIsBazels) {
  EXPECT_EQ(ProgramCommand("inspect"), "bazel run //apps:inspect --");
  EXPECT_EQ(InstalledCommand("inspect"), "inspect");
}

}  // namespace
}  // namespace dtnn
