#include "apps/flags/help.h"

#include <algorithm>
#include <sstream>

#include "apps/flags/option_table.h"
#include "comm/job/exit_code.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

TEST(HelpTest, NamesEveryOption) {
  const std::string help = HelpText("benchmark", "").value();
  for (const OptionSpec& spec : OptionTable()) {
    EXPECT_TRUE(Contains(help, " --" + std::string(spec.name))) << spec.name;
  }
}

TEST(HelpTest, StaysWithin100ColumnsWithoutTrailingBlanks) {
  std::istringstream lines(HelpText("benchmark", "").value());
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    EXPECT_LE(line.size(), 100u) << line;
    EXPECT_FALSE(line.ends_with(' ')) << line;
  }
  EXPECT_GT(count, 40);
}

TEST(HelpTest, OptionsThatWorkStandBeforeThoseThatDoNot) {
  const std::string help = HelpText("benchmark", "").value();
  const size_t missing = help.find("not available in this build yet");
  ASSERT_NE(missing, help.npos);
  for (const OptionSpec& spec : OptionTable()) {
    const size_t line = help.find("\n  --" + std::string(spec.name));
    EXPECT_EQ(spec.available(), line < missing) << spec.name;
  }
}

TEST(HelpTest, TopicShowsItsGroupOnly) {
  const std::string help = HelpText("benchmark", "optimizer").value();
  EXPECT_TRUE(Contains(help, "--learning-rate=X"));
  EXPECT_TRUE(Contains(help, "step size [0.01]"));
  EXPECT_TRUE(Contains(help, "--optimizer-rho"));
  EXPECT_FALSE(Contains(help, "--model"));
  EXPECT_TRUE(HelpText("benchmark", "encryption").ok());
}

TEST(HelpTest, ListsTheWordsOfLists) {
  std::string help = HelpText("benchmark", "").value();
  std::ranges::replace(help, '\n', ' ');
  for (const char* word : {" reduce_lr_every_nepochs,", " one_cycle ", " top5_accuracy,",
                           " per_class_report ", " binary_cross_entropy,"}) {
    EXPECT_TRUE(Contains(help, word)) << word;
  }
  EXPECT_TRUE(Contains(help, "--early-stopping-metric=NAME "));
}

TEST(HelpTest, UnknownTopicIsAUsageError) {
  const absl::Status status = HelpText("benchmark", "optimiser").status();
  EXPECT_EQ(ExitCodeOf(status), kExitUsage);
  EXPECT_TRUE(Contains(std::string(status.message()), "did you mean \"optimizer\"?"));
}

}  // namespace
}  // namespace dtnn
