#include "tensor/machine/system_file.h"

#include <filesystem>
#include <fstream>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

using Texts = std::vector<std::string>;

TEST(SystemFileTest, LinesWithTheirEmptyOnesAndAnEndThatIsNone) {
  const std::string path = std::filesystem::path(::testing::TempDir()) / "system_file";
  std::ofstream(path) << "first  line\n\n\tlast";
  EXPECT_EQ(LinesOf(path), (Texts{"first  line", "", "\tlast"}));
  std::filesystem::remove(path);
  EXPECT_EQ(LinesOf(path), Texts());
}

TEST(SystemFileTest, WordsBetweenBlanksAndTabs) {
  EXPECT_EQ(WordsOf("MemAvailable:   12\tkB "), (Texts{"MemAvailable:", "12", "kB"}));
  EXPECT_EQ(WordsOf(""), Texts());
}

}  // namespace
}  // namespace dtnn
