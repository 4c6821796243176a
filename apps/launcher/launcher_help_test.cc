#include "apps/launcher/launcher_help.h"

#include <algorithm>
#include <sstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(LauncherHelpTest, ThePageFitsATerminalAndBeginsWithTheProgramsText) {
  const std::string page = LauncherHelp("").value();
  EXPECT_THAT(page, StartsWith("benchmark [OPTION]...\nmpirun -np RANKS benchmark "
                               "--parallel=data [OPTION]...\n\nWithout options, trains "));
  EXPECT_THAT(page, HasSubstr("a network of your choice.\n\n  --model=NAME "));
  EXPECT_THAT(page, Not(HasSubstr("resnet20_cifar10"))) << "examples are in the manual page";
  EXPECT_LT(std::ranges::count(page, '\n'), 24) << page;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

TEST(LauncherHelpTest, TheManualPageHasTheSameText) {
  const std::string page = LauncherHelp("man").value();
  EXPECT_THAT(page, HasSubstr("benchmark \\- trains or tests a network\n"));
  EXPECT_THAT(page, HasSubstr("Without options, trains "));
  EXPECT_THAT(page, HasSubstr("resnet20_cifar10"));
}

}  // namespace
}  // namespace dtnn
