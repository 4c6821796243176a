// The program: real runs of the launcher.

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "apps/testing/process.h"
#include "apps/testing/texts.h"
#include "comm/ranks/job/exit_code.h"
#include "data/testing/idx_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

using ::testing::AllOf;
using testing::Contents;
using testing::Count;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Outcome;
using testing::Process;

constexpr char kProgram[] = "apps/sweep/sweep", kLauncher[] = "apps/benchmark";

// The metrics of validation in a history, without times.
std::vector<std::string> ValidationMetrics(const std::string& history) {
  std::vector<std::string> found;
  for (size_t at = 0; (at = history.find("\"val_", at)) != history.npos; ++at) {
    found.push_back(history.substr(at, history.find_first_of(",}", at) - at));
  }
  return found;
}

class SweepTest : public ::testing::Test {
 protected:
  SweepTest() : folder_(testing::NewFolder("sweep")) { Write(2); }

  // A small network that learns.
  void Write(int epochs, const std::string& more = "") {
    std::ofstream(folder_ + "/run.yaml")
        << "model: simplecnn\ndataset: synthetic\nsynthetic: {pattern: classes, input-shape: "
           "[1, 8, 8], output-shape: 3, train-samples: 96, test-samples: 8}\nnum-epochs: "
        << epochs << "\nbatch-size: 8\n"
        << more;
  }

  std::vector<std::string> Arguments(const std::vector<std::string>& more) const {
    std::vector<std::string> arguments = {folder_ + "/run.yaml", "--folder=" + folder_ + "/runs",
                                          std::string("--program=") + kLauncher};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  Outcome Sweep(const std::vector<std::string>& more) const {
    return Process(kProgram, Arguments(more)).Wait();
  }
  std::string In(const std::string& file) const { return folder_ + "/runs/" + file; }

  const std::string folder_;
};

TEST_F(SweepTest, RunsEveryPointOnceAndPutsTheBestFirst) {
  const std::vector<std::string> grid = {"--grid", "learning-rate=0.000001,0.05", "batch-size=8",
                                         "--jobs=2"};
  const Outcome first = Sweep(grid);
  ASSERT_EQ(first.exit_code, 0) << first.text;
  const std::string slow = "learning-rate=0.000001,batch-size=8",
                    fast = "learning-rate=0.05,batch-size=8";
  EXPECT_THAT(first.text, AllOf(HasSubstr("[1/2] " + slow + ": begins\n"),
                                HasSubstr("[2/2] " + fast + ": done in ")));
  const size_t table = first.text.find("\nlearning-rate  batch-size  epochs  ");
  ASSERT_NE(table, std::string::npos) << first.text;
  EXPECT_LT(first.text.find("         0.05           8       2  ", table),
            first.text.find("     0.000001           8       2  ", table))
      << first.text;
  EXPECT_THAT(Contents(In("sweep.html")), AllOf(HasSubstr(slow), HasSubstr(fast)));
  for (const char* file : {"options.yaml", "log.txt", "history.jsonl", "model.safetensors"}) {
    EXPECT_TRUE(std::filesystem::exists(In(fast + "/" + file))) << file;
  }
  const std::string log = Contents(In(fast + "/log.txt"));
  EXPECT_THAT(log, HasSubstr("**** Done"));

  const Outcome again = Sweep(grid);
  ASSERT_EQ(again.exit_code, 0) << again.text;
  EXPECT_EQ(Count(again.text, ": is done already\n"), 2) << again.text;
  EXPECT_EQ(Contents(In(fast + "/log.txt")), log);
  EXPECT_EQ(again.text.substr(again.text.find("\nlearning-rate")), first.text.substr(table));

  Write(3);
  const Outcome other = Sweep(grid);
  EXPECT_EQ(other.exit_code, kExitFailed);
  EXPECT_THAT(other.text, AllOf(HasSubstr("/options.yaml: a run with other options is there"),
                                Not(HasSubstr("Curves: "))));
}

TEST_F(SweepTest, TheOptionsOfARunRepeatItFromTheStart) {
  ASSERT_EQ(Sweep({"--grid", "learning-rate=0.05"}).exit_code, 0);
  const std::string run = "learning-rate=0.05/", repeated = folder_ + "/repeated.jsonl";
  const auto written = std::filesystem::last_write_time(In(run + "model.safetensors"));
  const Outcome outcome =
      Process(kLauncher, {"--options=" + In(run + "options.yaml"), "--history-file=" + repeated})
          .Wait();
  ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_EQ(ValidationMetrics(Contents(repeated)),
            ValidationMetrics(Contents(In(run + "history.jsonl"))));
  EXPECT_FALSE(ValidationMetrics(Contents(repeated)).empty());
  EXPECT_EQ(std::filesystem::last_write_time(In(run + "model.safetensors")), written);
}

TEST_F(SweepTest, APageThatIsNotItsOwnStays) {
  std::filesystem::create_directory(folder_ + "/runs");
  std::ofstream(In("sweep.html")) << "my notes";
  const Outcome outcome = Sweep({"--grid", "learning-rate=0.05"});
  EXPECT_EQ(outcome.exit_code, kExitFailed);
  EXPECT_THAT(outcome.text,
              AllOf(HasSubstr(In("sweep.html") + ": is not a report written by DTNN, and would be "
                                                 "overwritten"),
                    Not(HasSubstr("begins"))));
  EXPECT_EQ(Contents(In("sweep.html")), "my notes");
}

TEST_F(SweepTest, ARunThatFailsDoesNotStopTheOthers) {
  const Outcome outcome =
      Sweep({"--grid", "weights-and-bias-filename=" + folder_ + "/none.npz,None"});
  EXPECT_EQ(outcome.exit_code, kExitFailed);
  EXPECT_THAT(outcome.text, AllOf(HasSubstr("ended with exit code 1; see "),
                                  HasSubstr("=None: done in "), HasSubstr("1 of 2 runs failed: ")));
}

// By the system where memory ends, for one: nobody has stopped the sweep.
TEST_F(SweepTest, ARunThatIsKilledHasFailed) {
  const std::string program = folder_ + "/launcher.sh";
  std::ofstream(program) << "#!/bin/sh\nkill -9 $$\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const Outcome outcome =
      testing::Launch(kProgram, folder_ + "/run.yaml --grid batch-size=1 --program=" + program +
                                    " --folder=" + folder_ + "/killed");
  EXPECT_EQ(outcome.exit_code, kExitFailed);
  EXPECT_THAT(outcome.text, AllOf(HasSubstr("batch-size=1: ended with exit code 137; see "),
                                  HasSubstr("1 of 1 run failed: batch-size=1")));
}

TEST_F(SweepTest, ARunThatCannotBeginDoesNotStopTheOthers) {
  std::filesystem::create_directories(In("random-seed=2/log.txt"));
  const Outcome outcome = Sweep({"--grid", "random-seed=1,2,3", "--jobs=2"});
  EXPECT_EQ(outcome.exit_code, kExitFailed);
  EXPECT_THAT(outcome.text,
              AllOf(HasSubstr("random-seed=1: done in "), HasSubstr("random-seed=3: done in "),
                    HasSubstr("random-seed=2: cannot begin: " + In("random-seed=2/log.txt")),
                    HasSubstr("1 of 3 runs failed: random-seed=2"), HasSubstr("\nCurves: ")));
}

TEST_F(SweepTest, ContinuesWhereASignalStoppedIt) {
  Write(60, "schedulers: []\n");
  Process stopped(kProgram, Arguments({"--grid", "random-seed=1,2"}));
  ASSERT_TRUE(stopped.ReadUntil("random-seed=1: begins"));
  {
    testing::WatchedFolder folder(In("random-seed=1"));
    folder.AwaitFile();
  }
  stopped.Signal(SIGTERM);
  const Outcome outcome = stopped.Wait();
  EXPECT_EQ(outcome.exit_code, 128 + SIGTERM) << outcome.text;
  EXPECT_THAT(outcome.text, AllOf(HasSubstr("waits for 1 run to write a checkpoint"),
                                  HasSubstr("random-seed=1: stopped\n"),
                                  HasSubstr("the same command continues from here")));
  EXPECT_EQ(Count(outcome.text, "random-seed=2: begins"), 0);

  const Outcome rest = Sweep({"--grid", "random-seed=1,2"});
  ASSERT_EQ(rest.exit_code, 0) << rest.text;
  EXPECT_THAT(Contents(In("random-seed=1/log.txt")), HasSubstr("checkpoint"));
  std::filesystem::rename(folder_ + "/runs", folder_ + "/resumed");
  ASSERT_EQ(Sweep({"--grid", "random-seed=1"}).exit_code, 0);
  EXPECT_EQ(ValidationMetrics(Contents(folder_ + "/resumed/random-seed=1/history.jsonl")),
            ValidationMetrics(Contents(In("random-seed=1/history.jsonl"))));
}

// A launcher that writes what it was given.
TEST_F(SweepTest, RunsShareTheCoresUnlessTheEnvironmentSaysOtherwise) {
  const std::string program = folder_ + "/launcher.sh";
  std::ofstream(program) << "#!/bin/sh\necho \"threads: $OMP_NUM_THREADS\"\n"
                            "[ -n \"$WITHOUT_MODEL\" ] || : >\"$(dirname \"${1#--options=}\")/"
                            "model.safetensors\"\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const auto sweep = [&](const std::string& environment, const std::string& folder) {
    return testing::Launch("env", environment + " " + kProgram + " " + folder_ +
                                      "/run.yaml --grid batch-size=1 --jobs=2 --program=" +
                                      program + " --folder=" + folder_ + "/" + folder);
  };
  ASSERT_EQ(sweep("OMP_NUM_THREADS=7", "given").exit_code, 0);
  EXPECT_EQ(Contents(folder_ + "/given/batch-size=1/log.txt"), "threads: 7\n");
  ASSERT_EQ(sweep("-u OMP_NUM_THREADS", "shared").exit_code, 0);
  EXPECT_EQ(Contents(folder_ + "/shared/batch-size=1/log.txt"),
            "threads: " + std::to_string(std::max(1, NumThreads() / 2)) + "\n");
  const Outcome without = sweep("WITHOUT_MODEL=1", "without");
  EXPECT_EQ(without.exit_code, kExitFailed);
  EXPECT_THAT(without.text, HasSubstr("batch-size=1: ended without a model; see "));
  // Some parents ignore the ends of their children, and programs inherit that.
  const Outcome ignored =
      testing::Launch("sh", "-c \"trap '' CHLD; exec " + std::string(kProgram) + " " + folder_ +
                                "/run.yaml --grid batch-size=1 --program=" + program +
                                " --folder=" + folder_ + "/ignored\"");
  EXPECT_EQ(ignored.exit_code, 0) << ignored.text;
}

TEST_F(SweepTest, WhatTheOptionsAskForIsWrittenByEveryRun) {
  Write(1, "report: " + folder_ + "/page.html\ntensorboard-dir: " + folder_ +
               "/board\nmetrics-port: 0\n");
  const Outcome outcome = Sweep({"--grid", "random-seed=1,2", "--jobs=2"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
  for (const char* run : {"random-seed=1/", "random-seed=2/"}) {
    EXPECT_TRUE(std::filesystem::exists(In(run + std::string("page.html")))) << run;
    EXPECT_FALSE(std::filesystem::is_empty(In(run + std::string("board")))) << run;
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/page.html"));
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/board"));
}

TEST_F(SweepTest, RunsAreComparedBesideOtherTablesInTheirFolders) {
  Write(1, "profile: profile.csv\n");
  const Outcome outcome = Sweep({"--grid", "random-seed=1,2"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_TRUE(std::filesystem::exists(In("random-seed=1/profile.csv")));
  EXPECT_THAT(outcome.text, HasSubstr("\nCurves: "));
  EXPECT_THAT(Contents(In("sweep.html")),
              AllOf(HasSubstr("random-seed=1"), HasSubstr("random-seed=2")));
}

TEST_F(SweepTest, ARunThatCannotBeReadIsNamed) {
  ASSERT_EQ(Sweep({"--grid", "random-seed=1,2"}).exit_code, 0);
  std::ofstream(In("random-seed=2/history.jsonl")) << "not a history\n";
  const Outcome outcome = Sweep({"--grid", "random-seed=1,2,3"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_THAT(outcome.text, AllOf(HasSubstr("random-seed=2: cannot be compared: " +
                                            In("random-seed=2/history.jsonl")),
                                  HasSubstr("\nCurves: ")));
  EXPECT_THAT(Contents(In("sweep.html")),
              AllOf(HasSubstr("random-seed=1"), Not(HasSubstr("random-seed=2")),
                    HasSubstr("random-seed=3")));
}

TEST_F(SweepTest, WrongCommandLinesRunNothing) {
  const auto refused = [&](const Outcome& outcome, const char* text) {
    EXPECT_EQ(outcome.exit_code, kExitUsage) << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr(text));
    EXPECT_FALSE(std::filesystem::exists(folder_ + "/runs"));
  };
  refused(Process(kProgram, {}).Wait(), "expected a file of options");
  refused(Process(kProgram, {}).Wait(), "sweep -- run.yaml --grid learning-rate=0.1,0.01");
  refused(Sweep({}), "--grid: missing");
  refused(Sweep({"--grid=learning-rate"}),
          "--grid=learning-rate: expected an option and its values");
  refused(Sweep({"other.yaml"}), "\"other.yaml\": is a second file of options; expected one");
  refused(Sweep({"--grid", "learnin-rate=1"}), "did you mean --learning-rate?");
  Write(2, "metrics-port: 61645\n");
  refused(Sweep({"--grid", "batch-size=1,2", "--jobs=2"}),
          "--metrics-port=61645: 2 runs at a time cannot have the same port");
  Write(2, "modle: x\n");
  refused(Sweep({"--grid", "batch-size=1"}), "/run.yaml:6: --modle: no such option");
  EXPECT_EQ(Process(kProgram, {folder_ + "/none.yaml", "--grid", "batch-size=1"}).Wait().exit_code,
            kExitFailed);
}

}  // namespace
}  // namespace dtnn
