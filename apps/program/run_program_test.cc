#include "apps/program/run_program.h"

#include <cstdlib>
#include <iostream>
#include <new>

#include "comm/ranks/job/exit_code.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/text/version.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

TEST(RunProgramTest, PassesTheArgumentsAfterTheName) {
  char name[] = "program", first[] = "--a=1", second[] = "b";
  char* all[] = {name, first, second, nullptr};
  EXPECT_EQ(RunProgram("program", 3, all, "",
                       [](const std::vector<std::string>& arguments) {
                         EXPECT_THAT(arguments, ElementsAre("--a=1", "b"));
                         return absl::OkStatus();
                       }),
            kExitDone);
  // A caller may leave out even the program's name.
  EXPECT_EQ(RunProgram("program", 0, all + 3, "",
                       [](const std::vector<std::string>& arguments) {
                         EXPECT_TRUE(arguments.empty());
                         return absl::OkStatus();
                       }),
            kExitDone);
}

TEST(RunProgramTest, TheVersionIsPrintedInsteadOfARun) {
  char name[] = "program", version[] = "--version", more[] = "b";
  char* all[] = {name, version, more, nullptr};
  int runs = 0;
  const auto count = [&](const std::vector<std::string>&) {
    ++runs;
    return absl::OkStatus();
  };
  testing::internal::CaptureStdout();
  EXPECT_EQ(RunProgram("program", 2, all, "", count), kExitDone);
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "program (DTNN) " + std::string(Version()) + "\n");
  EXPECT_EQ(runs, 0);
  // The program's own, or that of a program which it starts.
  EXPECT_EQ(RunProgram("program", 3, all, "", count), kExitDone);
  EXPECT_EQ(runs, 1);
}

TEST(RunProgramTest, TellsWhatWentWrong) {
  char* none[] = {nullptr};
  CaptureStderr();
  EXPECT_EQ(RunProgram("program", 0, none, "",
                       [](const std::vector<std::string>&) { return UsageError("--a: no"); }),
            kExitUsage);
  EXPECT_EQ(GetCapturedStderr(), "program: --a: no\n");
}

// In a process of its own: the variable is read once.
TEST(RunProgramTest, AnUnknownInstructionSetIsWrongUsageBeforeAnythingRuns) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  char* none[] = {nullptr};
  EXPECT_EXIT(
      {
        setenv("DTNN_SIMD", "nonsense", /*overwrite=*/1);
        std::exit(RunProgram("program", 0, none, "", [](const std::vector<std::string>&) {
          std::_Exit(kExitDone);
          return absl::OkStatus();
        }));
      },
      ::testing::ExitedWithCode(kExitUsage),
      "program: DTNN_SIMD=\"nonsense\": must be one of: .*avx2, .*scalar\n");
}

TEST(RunProgramTest, OutputThatCannotBeWrittenIsAFailure) {
  char* none[] = {nullptr};
  const auto run = [&](const absl::Status& status) {
    return RunProgram("program", 0, none, "", [&](const std::vector<std::string>&) {
      std::cout.setstate(std::ios::badbit);
      return status;
    });
  };
  CaptureStderr();
  EXPECT_EQ(run(absl::OkStatus()), kExitFailed);
  EXPECT_EQ(GetCapturedStderr(),
            "program: cannot write to the standard output; is the disk full?\n");
  // Another error is reported instead.
  CaptureStderr();
  EXPECT_EQ(run(UsageError("--a: no")), kExitUsage);
  EXPECT_EQ(GetCapturedStderr(), "program: --a: no\n");
  std::cout.clear();
}

TEST(RunProgramTest, NoMemoryIsAnErrorOfOneLine) {
  char* none[] = {nullptr};
  CaptureStderr();
  EXPECT_EQ(
      RunProgram("program", 0, none, "use fewer threads (OMP_NUM_THREADS)",
                 [](const std::vector<std::string>&) -> absl::Status { throw std::bad_alloc(); }),
      kExitFailed);
  EXPECT_EQ(GetCapturedStderr(), "program: out of memory; use fewer threads (OMP_NUM_THREADS)\n");
}

}  // namespace
}  // namespace dtnn
