// The launcher as a user meets it: output, one-line errors, exit codes.

#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "gtest/gtest.h"

namespace {

struct Outcome {
  int exit_code = -1;
  std::string text;
};

// Runs `apps/benchmark` with `arguments` in a shell. Errors go into the text too unless `arguments`
// redirect them.
Outcome Launch(const std::string& arguments) {
  Outcome outcome;
  const std::string command = "{ apps/benchmark " + arguments + "; } 2>&1";
  std::FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return outcome;
  char buffer[4096];
  for (size_t n; (n = std::fread(buffer, 1, sizeof(buffer), pipe)) > 0;) {
    outcome.text.append(buffer, n);
  }
  const int status = pclose(pipe);
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

int Lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

TEST(BenchmarkTest, HelpAndListsEndWell) {
  for (const char* arguments : {"--help", "-h", "--help=dataset"}) {
    const Outcome outcome = Launch(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << arguments;
    EXPECT_NE(outcome.text.find("--dataset-path"), std::string::npos) << arguments;
  }
  const Outcome models = Launch("--model=list");
  EXPECT_EQ(models.exit_code, 0);
  EXPECT_NE(models.text.find("simplecnn\n"), std::string::npos);
  const Outcome datasets = Launch("--dataset=list");
  EXPECT_EQ(datasets.exit_code, 0);
  EXPECT_NE(datasets.text.find("mnist\n"), std::string::npos);
  EXPECT_NE(datasets.text.find("cifar10 (not available"), std::string::npos);
}

TEST(BenchmarkTest, WrongUsageIsOneLineAndExitCode2) {
  for (const char* arguments :
       {"--evaluate", "--nonsense", "x", "--model=simplecnn --dataset=mnist --num-epochs=-1",
        "--model=vgg61 --dataset=mnist", "--model=simplecnn --dataset=cifar10",
        "--model=simplecnn --dataset=mnist --tracing", "--help=nonsense",
        "--model=simplecnn --dataset=mnist --batch-size=1 --global-batch-size=1"}) {
    const Outcome outcome = Launch(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_EQ(Lines(outcome.text), 1) << outcome.text;
    EXPECT_TRUE(outcome.text.starts_with("benchmark: --") ||
                outcome.text.starts_with("benchmark: argument "))
        << outcome.text;
  }
}

TEST(BenchmarkTest, ErrorsGoToTheStandardErrorOnly) {
  EXPECT_EQ(Launch("--nonsense 2>/dev/null").text, "");
  EXPECT_EQ(Launch("--help 2>&1 >/dev/null").text, "");
}

TEST(BenchmarkTest, FullDiskIsAFailure) {
  const Outcome outcome = Launch("--help 2>&1 >/dev/full");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.text, "benchmark: cannot write to the standard output\n");
}

}  // namespace
