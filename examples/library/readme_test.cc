// What README.md and docs/library.md tell the reader to write is what is built here, and it runs.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace {

using ::testing::HasSubstr;

std::string Path(const std::string& path) {
  return std::string(std::getenv("TEST_SRCDIR")) + "/dtnn/" + path;
}

std::string ReadFile(const std::string& path) {
  std::ifstream in(Path(path));
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// The lines between "// [name]" and "// [/name]", without the indentation of the first.
std::string Excerpt(const std::string& source, const std::string& name) {
  std::istringstream in(source);
  std::string excerpt;
  size_t indentation = std::string::npos;
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (line.find("// [/" + name + "]") != std::string::npos) break;
    if (inside) {
      if (indentation == std::string::npos) indentation = line.find_first_not_of(' ');
      excerpt += line.substr(std::min(indentation, line.size())) + "\n";
    }
    inside |= line.find("// [" + name + "]") != std::string::npos;
  }
  return excerpt;
}

TEST(ReadmeTest, DocumentsShowThePrograms) {
  const struct {
    const char *document, *program, *excerpt;
  } shown[] = {
      {"README.md", "train.cc", "README"},
      {"docs/library.md", "train.cc", "README"},
      {"docs/library.md", "own_parts.cc", "data"},
      {"docs/library.md", "own_parts.cc", "layer"},
      {"docs/library.md", "own_parts.cc", "callback"},
      {"docs/library.md", "own_parts.cc", "observer"},
      {"docs/library.md", "own_parts.cc", "use"},
      {"docs/library.md", "ranks.cc", "ranks"},
      {"docs/library.md", "run.cc", "run"},
  };
  for (const auto& [document, program, excerpt] : shown) {
    const std::string lines =
        Excerpt(ReadFile(std::string("examples/library/") + program), excerpt);
    EXPECT_GT(lines.size(), 200) << program << " " << excerpt;
    EXPECT_THAT(ReadFile(document), HasSubstr("```cpp\n" + lines + "```")) << program;
  }
}

TEST(ReadmeTest, TheProgramIsShort) {
  const std::string lines = Excerpt(ReadFile("examples/library/train.cc"), "README");
  EXPECT_LT(std::ranges::count(lines, '\n'), 25);
}

TEST(ReadmeTest, TheRunIsShort) {
  const std::string lines = Excerpt(ReadFile("examples/library/run.cc"), "run");
  EXPECT_LT(std::ranges::count(lines, '\n'), 40);
}

TEST(ReadmeTest, TheRunResumes) {
  const std::string folder = std::string(std::getenv("TEST_TMPDIR")) + "/run";
  std::filesystem::create_directories(folder);
  const auto run = [&](const char* epochs) {
    const std::string command =
        Path("examples/library/run") + " " + folder + " " + epochs + " > " + folder + "/printed";
    return std::system(command.c_str());
  };
  ASSERT_EQ(run("1"), 0);
  ASSERT_EQ(run("2"), 0);
  std::ifstream lines(folder + "/printed");
  const std::string printed{std::istreambuf_iterator<char>(lines),
                            std::istreambuf_iterator<char>()};
  EXPECT_THAT(printed, HasSubstr("epoch 2: "));
  EXPECT_EQ(printed.find("epoch 1: "), printed.npos) << "began anew: " << printed;
  std::ifstream in(folder + "/history.csv");
  const std::string history{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  EXPECT_EQ(std::ranges::count(history, '\n'), 3) << history;
}

TEST(ReadmeTest, YourOwnPartsLearn) {
  EXPECT_EQ(std::system(Path("examples/library/own_parts").c_str()), 0);
}

TEST(ReadmeTest, HasTheTwoCommands) {
  const std::string readme = ReadFile("README.md");
  EXPECT_THAT(readme, HasSubstr("\n./setup.sh && bazel run //apps:benchmark\n"));
  EXPECT_THAT(readme, HasSubstr("\n./setup.sh && bazel test //...\n"));
}

}  // namespace
