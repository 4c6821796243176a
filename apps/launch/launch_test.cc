// The launcher with small programs: what it prints, its exit codes, and which processes it leaves.

#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "apps/testing/process.h"
#include "data/testing/idx_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using testing::NewFolder;
using ::testing::Not;
using testing::Outcome;
using testing::Process;

constexpr char kProgram[] = "apps/launch/launch";

std::vector<std::string> Arguments(int ranks, const std::string& script,
                                   const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {"-n", std::to_string(ranks)};
  arguments.insert(arguments.end(), more.begin(), more.end());
  arguments.insert(arguments.end(), {"--", "/bin/sh", "-c", script});
  return arguments;
}

// The outcome of ranks that run a shell script.
Outcome RunRanks(int ranks, const std::string& script, const std::vector<std::string>& more = {}) {
  return Process(kProgram, Arguments(ranks, script, more)).Wait();
}

std::vector<std::string> SortedLines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::ranges::sort(lines);
  return lines;
}

class LaunchTest : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, LaunchTest, ::testing::Values(1, 2, 4));

TEST_P(LaunchTest, EachRankKnowsItsPlaceAndTheSecretOfAll) {
  const int ranks = GetParam();
  const Outcome outcome =
      RunRanks(ranks,
               "echo $PYMPI_PROTO $PYMPI_RANK of $PYMPI_SIZE ${#DTNN_JOB_SECRET}; "
               "echo error $PYMPI_RANK >&2");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  std::vector<std::string> expected;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string number = std::to_string(rank), prefix = "[" + number + "] ";
    expected.push_back(prefix + "error " + number);
    expected.push_back(prefix + "tcp " + number + " of " + std::to_string(ranks) + " 64");
  }
  EXPECT_EQ(SortedLines(outcome.text), expected);
}

// Two pipes per rank are more than the soft limit; a rank has the limit of before.
TEST(LaunchTest, MorePipesThanTheSoftLimitOfOpenFilesAreNoObstacle) {
  const Outcome outcome =
      Process("/bin/sh", {"-c", std::string("ulimit -Sn 40; exec ") + kProgram +
                                    " -n 20 --prefix=False -- /bin/sh -c 'ulimit -Sn'"})
          .Wait();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_EQ(SortedLines(outcome.text), std::vector<std::string>(20, "40"));
}

TEST(LaunchTest, AHardLimitThatIsTooLowIsNamedBeforeRanksAreStarted) {
  const auto limited = [](const std::string& ranks) {
    return Process("/bin/sh", {"-c", std::string("ulimit -n 40; exec ") + kProgram + " -n " +
                                         ranks + " -- /bin/echo begun"})
        .Wait();
  };
  EXPECT_EQ(limited("12").exit_code, 0);
  const Outcome outcome = limited("13");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(
      outcome.text,
      HasSubstr("13 ranks need 42 open files here, and the system allows 40; raise the hard "
                "limit (ulimit -Hn), or start fewer ranks"));
  EXPECT_THAT(outcome.text, Not(HasSubstr("begun")));
}

TEST(LaunchTest, WhatTheLauncherKnowsOfAnotherJobDoesNotReachTheRanks) {
  const std::vector<std::string> names = {"DTNN_JOB_SECRET_FILE", "DTNN_JOB_PLAIN",
                                          "DTNN_JOB_LISTENER"};
  for (const std::string& name : names) setenv(name.c_str(), "7", 1);
  // (Rank 0 has a listener of its own.)
  const Outcome outcome = RunRanks(2,
                                   "[ $PYMPI_RANK = 0 ] || echo \"$DTNN_JOB_SECRET_FILE,"
                                   "$DTNN_JOB_PLAIN,$DTNN_JOB_LISTENER.\"");
  for (const std::string& name : names) unsetenv(name.c_str());
  EXPECT_EQ(outcome.text, "[1] ,,.\n");
}

TEST(LaunchTest, CrashesLeaveNoCopyOfTheSecret) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_CORE, &before), 0);
  rlimit all = before;
  all.rlim_cur = all.rlim_max;
  ASSERT_EQ(setrlimit(RLIMIT_CORE, &all), 0);
  const Outcome outcome = RunRanks(1, "ulimit -S -c");
  setrlimit(RLIMIT_CORE, &before);
  EXPECT_EQ(outcome.text, "[0] 0\n");
}

TEST_P(LaunchTest, LinesOfRanksDoNotMix) {
  constexpr int kLines = 300;
  const Outcome outcome = RunRanks(GetParam(),
                                   "i=0; while [ $i -lt 300 ]; do printf 'rank %s ' $PYMPI_RANK; "
                                   "printf 'line %s\\n' $i; i=$((i+1)); done; printf 'no end'");
  ASSERT_EQ(outcome.exit_code, 0);
  std::map<char, int> next;
  std::istringstream stream(outcome.text);
  for (std::string line; std::getline(stream, line);) {
    ASSERT_GT(line.size(), 4u) << line;
    const char rank = line[1];
    const int number = next[rank]++;
    const std::string said = number == kLines
                                 ? std::string("no end")
                                 : std::string("rank ") + rank + " line " + std::to_string(number);
    ASSERT_EQ(line, std::string("[") + rank + "] " + said);
  }
  ASSERT_EQ(next.size(), size_t(GetParam()));
  for (const auto& [rank, count] : next) EXPECT_EQ(count, kLines + 1) << rank;
}

TEST(LaunchTest, WithoutAPrefixLinesAreAsTheyAre) {
  EXPECT_EQ(RunRanks(2, "echo the same", {"--noprefix"}).text, "the same\nthe same\n");
}

TEST(LaunchTest, AFailureOfOneEndsTheOthers) {
  const Outcome outcome =
      RunRanks(4, "[ $PYMPI_RANK != 2 ] || exit 3; exec sleep 1000", {"--grace=0.1"});
  EXPECT_EQ(outcome.exit_code, 3) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("launch: rank 2 ended with exit code 3; 3 others still run"));
  EXPECT_THAT(outcome.text, HasSubstr("launch: sends SIGTERM to ranks 0, 1, 3\n"));
}

// A script in which rank 1 kills itself once so many others are ready.
std::string KilledWhenReady(const std::string& folder, int others) {
  return "cd " + folder +
         "; [ $PYMPI_RANK != 1 ] || { while [ \"$(ls | wc -l)\" != " + std::to_string(others) +
         " ]; do sleep 0.05; done; kill -9 $$; }; ";
}
constexpr char kReady[] = "touch ready$PYMPI_RANK; ";

TEST(LaunchTest, WhoDoesNotListenIsKilled) {
  const Outcome outcome = RunRanks(2,
                                   KilledWhenReady(NewFolder("deaf"), 1) + "trap '' TERM; " +
                                       kReady + "while :; do sleep 0.1; done",
                                   {"--grace=0.1"});
  EXPECT_EQ(outcome.exit_code, 128 + SIGKILL) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("launch: rank 1 was ended by signal 9"));
  EXPECT_THAT(outcome.text, HasSubstr("launch: kills rank 0\n"));
}

TEST(LaunchTest, ThatTheRunCanBeResumedIsKept) {
  const Outcome outcome =
      RunRanks(3,
               KilledWhenReady(NewFolder("resumed"), 2) + "trap 'exit 75' TERM; " + kReady +
                   "while :; do sleep 0.05; done",
               {"--grace=2"});
  EXPECT_EQ(outcome.exit_code, 75) << outcome.text;
}

// Rank 2 fails after the launcher has seen the end of rank 0, which saved the run.
TEST(LaunchTest, ThatTheRunCanBeResumedIsKeptWhateverEndsLater) {
  const Outcome outcome = RunRanks(
      3,
      KilledWhenReady(NewFolder("later"), 2) +
          "[ $PYMPI_RANK = 2 ] || trap 'exit 75' TERM; "
          "[ $PYMPI_RANK != 2 ] || "
          "trap 'while kill -0 $(cat ready0) 2>/dev/null; do sleep 0.05; done; exit 3' TERM; "
          "echo $$ > ready$PYMPI_RANK; while :; do sleep 0.05; done",
      {"--grace=2"});
  EXPECT_EQ(outcome.exit_code, 75) << outcome.text;
}

TEST(LaunchTest, OthersMayEndInTheirOwnWay) {
  const Outcome outcome =
      RunRanks(2, "[ $PYMPI_RANK != 1 ] || exit 4; sleep 0.3; echo in order", {"--grace=100"});
  EXPECT_EQ(outcome.exit_code, 4) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("[0] in order\n"));
  EXPECT_THAT(outcome.text, Not(HasSubstr("SIGTERM")));
}

TEST(LaunchTest, AProgramThatIsNotThereIsSaidOnce) {
  const Outcome outcome = Process(kProgram, {"-n", "3", "--", "no/such/program"}).Wait();
  EXPECT_EQ(outcome.exit_code, 127);
  EXPECT_EQ(outcome.text, "launch: cannot start \"no/such/program\": No such file or directory\n");
  EXPECT_EQ(Process(kProgram, {"-n", "1", "--", "/"}).Wait().exit_code, 1);
}

TEST(LaunchTest, WrongUsageSaysWhatToDo) {
  for (const std::vector<std::string>& wrong :
       std::vector<std::vector<std::string>>{{"-n", "2"},
                                             {"-n", "2", "--"},
                                             {"-n", "0", "--", "true"},
                                             {"-n", "x", "--", "true"},
                                             {"true"},
                                             {"--hosts=a", "--", "true"}}) {
    const Outcome outcome = Process(kProgram, wrong).Wait();
    EXPECT_EQ(outcome.exit_code, 2) << outcome.text;
    EXPECT_EQ(std::ranges::count(outcome.text, '\n'), 1) << outcome.text;
  }
}

TEST(LaunchTest, AProgramWithoutTheDashesBeforeItIsAdvised) {
  for (const std::vector<std::string>& wrong : std::vector<std::vector<std::string>>{
           {"-n", "2", "true"}, {"-n", "2", "true", "--epochs=1"}, {"-n", "2", "--epochs=1"}}) {
    const Outcome outcome = Process(kProgram, wrong).Wait();
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.text,
                HasSubstr("; write -- before the program, as in launch -n 2 -- benchmark\n"));
  }
  EXPECT_THAT(Process(kProgram, {"--epochs=1", "--", "true"}).Wait().text,
              ::testing::Not(HasSubstr("write -- before")));
}

TEST(LaunchTest, SignalsGoToAllRanks) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    Process job(kProgram, Arguments(2,
                                    "trap 'echo got it; exit 9' INT TERM HUP; echo ready "
                                    "$PYMPI_RANK; while :; do sleep 0.05; done"));
    ASSERT_TRUE(job.ReadUntil("ready 0"));
    ASSERT_TRUE(job.ReadUntil("ready 1"));
    job.Signal(number);
    const Outcome outcome = job.Wait();
    EXPECT_EQ(outcome.exit_code, 9);
    EXPECT_THAT(outcome.text, HasSubstr("[0] got it"));
    EXPECT_THAT(outcome.text, HasSubstr("[1] got it"));
  }
}

// As under nohup, after which a shell and the system may both say that the terminal is gone.
TEST(LaunchTest, AnIgnoredSignalStaysIgnored) {
  std::vector<std::string> arguments = {"-c", "trap '' HUP; exec \"$0\" \"$@\"", kProgram};
  for (const std::string& argument :
       Arguments(1, "echo ready; for i in 1 2 3 4 5 6 7 8; do sleep 0.05; done; exit 9",
                 {"--grace=0.1"})) {
    arguments.push_back(argument);
  }
  Process job("/bin/sh", arguments);
  ASSERT_TRUE(job.ReadUntil("ready"));
  job.Signal(SIGHUP);
  job.Signal(SIGHUP);
  EXPECT_EQ(job.Wait().exit_code, 9) << "and is not killed";
}

TEST(LaunchTest, ASecondSignalLeavesLittleTime) {
  Process job(kProgram, Arguments(2,
                                  "trap 'echo first' INT; echo ready $PYMPI_RANK; "
                                  "while :; do sleep 0.05; done",
                                  {"--grace=0.1"}));
  ASSERT_TRUE(job.ReadUntil("ready 0"));
  ASSERT_TRUE(job.ReadUntil("ready 1"));
  job.Signal(SIGINT);
  ASSERT_TRUE(job.ReadUntil("[0] first"));
  ASSERT_TRUE(job.ReadUntil("[1] first"));
  job.Signal(SIGINT);
  EXPECT_EQ(job.Wait().exit_code, 128 + SIGKILL);
}

// 'Z': it has ended, and nobody has asked how.
bool Runs(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string number, name, state;
  return file >> number >> name >> state && state != "Z" && state != "X";
}

// The numbers behind "child ".
std::vector<int> Children(const std::string& text) {
  std::vector<int> pids;
  for (size_t at = 0; (at = text.find("child ", at)) != std::string::npos; ++at) {
    pids.push_back(std::atoi(text.c_str() + at + 6));
  }
  return pids;
}

void ExpectAllToEnd(const std::vector<int>& pids) {
  for (const int pid : pids) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (Runs(pid) && std::chrono::steady_clock::now() < end) sched_yield();
    EXPECT_FALSE(Runs(pid)) << pid;
  }
}

constexpr char kWithChild[] =
    "sleep 1000 & echo child $!; echo child $$; echo launcher $PPID; wait";

TEST(LaunchTest, NothingOutlivesTheLauncher) {
  std::vector<int> pids;
  {
    const std::string file = NewFolder("outlives") + "/output";
    Process job("/bin/sh", {"-c", "exec " + std::string(kProgram) + " -n 2 -- /bin/sh -c '" +
                                      kWithChild + "' | tee " + file});
    ASSERT_TRUE(job.ReadUntil("[0] launcher "));
    ASSERT_TRUE(job.ReadUntil("[1] launcher "));
    std::string text;
    while (std::ranges::count(text, '\n') < 6) {
      std::ifstream stream(file);
      text.assign(std::istreambuf_iterator<char>(stream), {});
    }
    pids = Children(text);  // of both ranks: the shell and what it has started
    ASSERT_EQ(pids.size(), 4u);
    for (const int pid : pids) EXPECT_TRUE(Runs(pid));
    ASSERT_EQ(kill(std::atoi(text.c_str() + text.find("launcher ") + 9), SIGKILL), 0);
    job.Wait();
  }
  ExpectAllToEnd(pids);
}

TEST(LaunchTest, NothingOutlivesItsRank) {
  const Outcome outcome = RunRanks(2, "sleep 1000 & echo child $!; exit 0");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(Children(outcome.text).size(), 2u);
  ExpectAllToEnd(Children(outcome.text));
}

TEST(LaunchTest, WithoutAReaderItEnds) {
  Process job("/bin/sh", {"-c", std::string(kProgram) +
                                    " -n 2 --grace=1 -- /bin/sh -c 'while :; do echo line; done' "
                                    "| head -n 1; echo over"});
  const Outcome outcome = job.Wait();
  EXPECT_THAT(outcome.text, HasSubstr("over"));
}

// Stands in for ssh: keeps its command line, and runs the command with an environment of its own.
std::string FakeSsh(const std::string& folder) {
  const std::string path = folder + "/ssh";
  std::ofstream(path) << "#!/bin/sh\nprintf '%s\\n' \"$@\" >>" << folder
                      << "/commands\n[ \"$6\" != unreachable ] || exit 255\n"
                         "exec env -i PATH=\"$PATH\" HERE=\"$6\" /bin/sh -c \"$7\"\n";
  chmod(path.c_str(), 0755);
  return path;
}

TEST(LaunchTest, OtherHostsAreReachedBySsh) {
  const std::string folder = NewFolder("ssh");
  setenv("LAUNCH_TEST", "passed on", 1);
  const Outcome outcome =
      RunRanks(3,
               "echo $HERE $PYMPI_RANK of $PYMPI_SIZE at $PYMPI_ADDR $LAUNCH_TEST; "
               "echo secret $DTNN_JOB_SECRET; [ $PYMPI_RANK != 2 ] || exit 5",
               {"--hosts=one,two", "--plain", "--variables=LAUNCH_TEST", "--grace=30",
                "--ssh=" + FakeSsh(folder)});
  EXPECT_EQ(outcome.exit_code, 5) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("[0] one 0 of 3 at one passed on\n"));
  EXPECT_THAT(outcome.text, HasSubstr("[1] one 1 of 3 at one passed on\n"));
  EXPECT_THAT(outcome.text, HasSubstr("[2] two 2 of 3 at one passed on\n"));
  const std::string secret = outcome.text.substr(outcome.text.find("secret ") + 7, 64);
  std::ifstream stream(folder + "/commands");
  const std::string commands(std::istreambuf_iterator<char>(stream), {});
  EXPECT_THAT(commands, HasSubstr("BatchMode=yes"));
  EXPECT_EQ(secret.find('\n'), std::string::npos);
  EXPECT_THAT(commands, Not(HasSubstr(secret))) << "other users read command lines";
}

TEST(LaunchTest, RanksOfOtherHostsGetSignalsAndEndWithTheOthers) {
  const std::string ssh = "--ssh=" + FakeSsh(NewFolder("ssh"));
  Process job(kProgram, Arguments(2,
                                  "trap 'exit 9' INT; echo ready $PYMPI_RANK; "
                                  "while :; do sleep 0.05; done",
                                  {"--hosts=one,two", "--plain", ssh}));
  ASSERT_TRUE(job.ReadUntil("ready 0"));
  ASSERT_TRUE(job.ReadUntil("ready 1"));
  job.Signal(SIGINT);
  EXPECT_EQ(job.Wait().exit_code, 9);
  const Outcome outcome = RunRanks(2, "[ $PYMPI_RANK != 1 ] || exit 6; exec sleep 1000",
                                   {"--hosts=one,two", "--plain", "--grace=0.1", ssh});
  EXPECT_EQ(outcome.exit_code, 6) << outcome.text;
  const Outcome unreachable =
      RunRanks(2, "exec sleep 1000", {"--hosts=one,unreachable", "--plain", "--grace=0.1", ssh});
  EXPECT_EQ(unreachable.exit_code, 255);
  EXPECT_THAT(unreachable.text,
              HasSubstr("launch: rank 1 on unreachable ended with exit code 255"));
}

}  // namespace
}  // namespace dtnn
