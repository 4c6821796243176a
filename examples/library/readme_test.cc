// What README.md tells the reader to write is what is compiled here.

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace {

using ::testing::HasSubstr;

std::string ReadFile(const std::string& path) {
  std::ifstream in(std::string(std::getenv("TEST_SRCDIR")) + "/dtnn/" + path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// The lines between two lines that hold the markers, without the two blanks of indentation.
std::string Between(const std::string& text, const std::string& first, const std::string& last) {
  const size_t start = text.find('\n', text.find(first)) + 1;
  const size_t end = text.rfind('\n', text.find(last)) + 1;
  std::string lines;
  for (size_t at = start; at < end;) {
    const size_t next = text.find('\n', at) + 1;
    lines += text.substr(at + 2, next - at - 2);
    at = next;
  }
  return lines;
}

TEST(ReadmeTest, ShowsTheProgramThatIsBuilt) {
  const std::string program = ReadFile("examples/library/train.cc");
  ASSERT_THAT(program, HasSubstr("[README]"));
  const std::string lines = Between(program, "// [README]", "// [/README]");
  ASSERT_GT(lines.size(), 500);
  EXPECT_THAT(ReadFile("README.md"), HasSubstr("```cpp\n" + lines + "```"));
}

TEST(ReadmeTest, HasTheTwoCommands) {
  const std::string readme = ReadFile("README.md");
  EXPECT_THAT(readme, HasSubstr("\n./setup.sh && bazel run //apps:benchmark\n"));
  EXPECT_THAT(readme, HasSubstr("\n./setup.sh && bazel test //...\n"));
}

}  // namespace
