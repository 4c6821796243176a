// What commands and programs in documents have in common.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

namespace fs = std::filesystem;
using ::testing::AnyOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

// The runfile is a link to the real file, so this finds every document, also the newest.
fs::path Root() {
  return fs::canonical(fs::path(std::getenv("TEST_SRCDIR")) / "dtnn" / "WORKSPACE").parent_path();
}

std::vector<fs::path> Documents() {
  std::vector<fs::path> paths = {Root() / "README.md"};
  for (const char* const folder : {"docs", "examples"}) {
    for (const auto& entry : fs::recursive_directory_iterator(Root() / folder)) {
      const fs::path extension = entry.path().extension();
      if (extension == ".md" || extension == ".py" || extension == ".cc")
        paths.push_back(entry.path());
    }
  }
  return paths;
}

std::vector<std::string> LinesOf(const fs::path& path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// The default, 0.99, is that of the program whose options these are; others have 0.9.
TEST(DocumentsTest, WhereAdamIsShownItHasTheUsualBeta1) {
  int shown = 0;
  for (const fs::path& path : Documents()) {
    const std::vector<std::string> lines = LinesOf(path);
    for (size_t i = 0; i < lines.size(); ++i) {
      // A flag or an argument, a member in C++, a line of a file of options.
      if (!::testing::Matches(ContainsRegex("optimizer=\"?n?adam[\" \n]|\\.name = \"n?adam\"|"
                                            "^optimizer: n?adam\n"))(lines[i] + "\n")) {
        continue;
      }
      ++shown;
      EXPECT_THAT(lines[i] + (i + 1 < lines.size() ? lines[i + 1] : ""),
                  AnyOf(HasSubstr("optimizer-beta1=0.9 "), HasSubstr("optimizer_beta1=0.9,"),
                        HasSubstr(".beta1 = 0.9}"), HasSubstr("optimizer-beta1: 0.9")))
          << path << ":" << i + 1;
    }
  }
  EXPECT_GT(shown, 17);
}

}  // namespace
}  // namespace dtnn
