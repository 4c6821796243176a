#include <filesystem>
#include <sstream>
#include <string>

#include "apps/best_of/run.h"
#include "apps/testing/process.h"
#include "comm/ranks/job/exit_code.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/best_of/decisions.h"

namespace dtnn {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Launch;
using ::testing::Not;
using testing::Outcome;

constexpr char kProgram[] = "apps/best_of/best_of";

Options Small(const std::string& file) {
  Options options;
  options.network.name = "simplecnn";
  options.training.batch = 2;
  options.convolution.best_of_file = file.empty() ? file : ::testing::TempDir() + file;
  if (!file.empty()) std::filesystem::remove(options.convolution.best_of_file);
  return options;
}

std::string RunProgram(const Options& options) {
  std::ostringstream out, err;
  const absl::Status status = RunBestOf(options, out, err);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(err.str(), "");
  return out.str();
}

TEST(BestOfTest, TimesTrainingAndEvaluation) {
  EXPECT_THAT(RunProgram(Small("")),
              AllOf(HasSubstr("**** simplecnn, 2 samples of (28, 28, 1), float32, NHWC\n"),
                    HasSubstr("**** BestOf: conv2d forward, "),
                    HasSubstr("**** BestOf: conv2d backward_filter, "), HasSubstr("_kept "),
                    HasSubstr("*")));
  Options evaluation = Small("");
  evaluation.training.evaluate_only = true;
  EXPECT_THAT(RunProgram(evaluation),
              AllOf(HasSubstr("**** BestOf: conv2d forward, "), Not(HasSubstr("backward"))));
}

TEST(BestOfTest, WhatIsInTheFileIsNotTimedAgain) {
  const Options options = Small("best_of_test.txt");
  EXPECT_THAT(RunProgram(options), Not(HasSubstr(", 0 by timing")));
  const std::string first = Decisions::Load(options.convolution.best_of_file)->ToString();
  EXPECT_THAT(RunProgram(options), HasSubstr(", 0 by timing"));
  EXPECT_EQ(Decisions::Load(options.convolution.best_of_file)->ToString(), first);
  Options larger = options;
  larger.training.batch = 3;
  EXPECT_THAT(RunProgram(larger), Not(HasSubstr(", 0 by timing")));
  EXPECT_THAT(Decisions::Load(options.convolution.best_of_file)->ToString(),
              AllOf(HasSubstr("/n2h"), HasSubstr("/n3h")));
}

TEST(BestOfTest, AFileThatCannotBeWrittenIsToldBeforeAnythingIsTimed) {
  Options options = Small("");
  options.convolution.best_of_file = "/no/such/folder/tuned.txt";
  std::ostringstream out, err;
  EXPECT_THAT(std::string(RunBestOf(options, out, err).message()),
              HasSubstr("best_of_file: /no/such/folder/tuned.txt: "));
  EXPECT_EQ(out.str() + err.str(), "");
}

TEST(BestOfTest, EachFlagHasItsEffect) {
  const auto run = [](const std::string& more) {
    const Outcome outcome = Launch(kProgram, "--model=simplecnn --batch-size=1 " + more);
    EXPECT_EQ(outcome.exit_code, kExitDone) << outcome.text;
    return outcome.text;
  };
  const std::string all = run("--dataset=cifar10 --dtype=float64 --tensor-format=NCHW");
  EXPECT_THAT(all, AllOf(HasSubstr("**** simplecnn, 1 sample of (3, 32, 32), float64, NCHW\n"),
                         HasSubstr("backward_filter")));
  EXPECT_THAT(run("--evaluate-only=True"), Not(HasSubstr("backward")));
  EXPECT_THAT(run("--freeze=1-5"),
              AllOf(HasSubstr("conv2d forward"), Not(HasSubstr("backward_filter"))));
  EXPECT_THAT(run(""), Not(HasSubstr("im2row")));
  EXPECT_THAT(run("--conv-direct-methods-for-best-of=convdirect_im2row_nhwc_default"),
              HasSubstr("im2row"));
  // What each turns off is the end of the name of a convolution of evaluation.
  const auto fused = [&](const std::string& model, const std::string& flag) {
    return run("--evaluate-only=True --model=" + model + flag);
  };
  const std::string resnet = "resnet20_cifar10";
  EXPECT_THAT(fused(resnet, ""), HasSubstr("_scale_bias_kept"));
  EXPECT_THAT(fused(resnet, " --enable-fused-conv-bn=False"),
              AllOf(Not(HasSubstr("_scale_bias_kept")), HasSubstr("_scale_bias_relu")));
  EXPECT_THAT(fused(resnet, " --enable-fused-conv-bn=False --enable-fused-conv-bn-relu=False"),
              Not(HasSubstr("_scale")));
}

TEST(BestOfTest, WrongUsageIsRefused) {
  const auto fails = [](const std::string& arguments, const std::string& message) {
    const Outcome outcome = Launch(kProgram, arguments);
    EXPECT_EQ(outcome.exit_code, kExitUsage) << arguments;
    EXPECT_THAT(outcome.text, HasSubstr(message));
  };
  fails("", "best_of: --model: missing");
  fails("--model=simplecn", "unknown model");
  fails("--model=simplecnn --batch-size=0", "--batch-size=0: ");
  fails("--model=simplecnn --conv-variant=gemm", "--conv-variant: no such option");
  const Outcome help = Launch(kProgram, "--help");
  EXPECT_EQ(help.exit_code, kExitDone);
  EXPECT_THAT(help.text, HasSubstr("--best-of-file=PATH"));
  EXPECT_EQ(Launch(kProgram, "--model=list").exit_code, kExitDone);
}

}  // namespace
}  // namespace dtnn
