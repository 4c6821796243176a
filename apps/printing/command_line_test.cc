#include "apps/printing/command_line.h"

#include "apps/flags/parser.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(CommandLineTest, SaysWhatWasGivenUnderNewNames) {
  const auto parsed = ParseFlags(std::vector<std::string>{
      "--momentum=0.8", "--model", "simplecnn", "--noevaluate", "--dataset=mnist",
      "--dataset-path=/my data/it's", "--metrics=categorical_accuracy,categorical_mse"});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  const std::string line = CommandLineOf(parsed->options, 1);
  EXPECT_EQ(line,
            "benchmark --model=simplecnn --evaluate=False --dataset=mnist "
            "--dataset-path='/my data/it'\\''s' --optimizer-momentum=0.8 "
            "--metrics=categorical_accuracy,categorical_mse");
  EXPECT_EQ(CommandLineOf(parsed->options, 4), "mpirun -np 4 " + line);
  Options tcp = parsed->options;
  tcp.transport = "tcp";
  EXPECT_EQ(CommandLineOf(tcp, 4), "launch -n 4 -- " + line);
}

TEST(CommandLineTest, WordsForTheShellAreQuotedWhereNeeded) {
  EXPECT_EQ(ShellWord("a-b_c/d.e=1,2:3"), "a-b_c/d.e=1,2:3");
  EXPECT_EQ(ShellWord(""), "''");
  EXPECT_EQ(ShellWord("$(rm x)"), "'$(rm x)'");
  EXPECT_EQ(ShellWord("*"), "'*'");
}

}  // namespace
}  // namespace dtnn
