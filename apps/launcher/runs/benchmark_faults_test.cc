// A rank that dies or freezes in any phase of a run: the others end in time, say who it was, and
// leave a checkpoint that loads.

#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

#include "apps/testing/mpi_job.h"
#include "comm/ranks/job/exit_code.h"
#include "data/testing/idx_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using testing::MpiJob;
using testing::NewFolder;
using testing::Outcome;
using testing::RankExitCode;
using testing::WatchedFolder;

constexpr char kProgram[] = "apps/benchmark";
constexpr int kTimeout = 6;  // seconds

enum class Phase { kStart, kCompute, kExchange, kCheckpoint, kEnd };

const char* Name(Phase phase) {
  constexpr const char* kNames[] = {"Start", "Compute", "Exchange", "Checkpoint", "End"};
  return kNames[int(phase)];
}

struct Victim {
  int rank, ranks;
};
using Case = std::tuple<Phase, int /*signal*/, Victim>;

class BenchmarkFaultsTest : public ::testing::TestWithParam<Case> {
 protected:
  // A run that spends most of its time in the phase.
  static std::vector<std::string> Arguments(Phase phase, const std::string& folder) {
    std::vector<std::string> arguments = {
        "--parallel=data",           "--dataset=synthetic",
        "--validation-split=0",      "--schedulers=",
        "--num-epochs=100000",       "--comm-timeout=" + std::to_string(kTimeout),
        "--checkpoint-dir=" + folder};
    const auto add = [&](std::vector<std::string> more) {
      arguments.insert(arguments.end(), more.begin(), more.end());
    };
    switch (phase) {
      case Phase::kStart:
      case Phase::kCompute:
        add({"--model=resnet20_cifar10", "--batch-size=16", "--synthetic-train-samples=256",
             "--checkpoint-steps=3"});
        break;
      case Phase::kExchange:  // eight megabytes of gradients for samples of nearly no work
        add({"--model=simplemlp", "--batch-size=1", "--synthetic-train-samples=32",
             "--use-blocking-mpi=False", "--comm-bucket-mb=1", "--checkpoint-steps=3"});
        break;
      case Phase::kCheckpoint:
        add({"--model=simplemlp", "--batch-size=1", "--synthetic-train-samples=32",
             "--checkpoint-steps=1"});
        break;
      case Phase::kEnd:  // the test behind the last epoch
        add({"--model=resnet20_cifar10", "--batch-size=1", "--synthetic-train-samples=32",
             "--num-epochs=1", "--evaluate", "--synthetic-test-samples=300"});
        break;
    }
    return arguments;
  }

  // Returns when the job is in the phase.
  static void Await(Phase phase, MpiJob& job, WatchedFolder& folder) {
    if (phase == Phase::kStart) return;
    if (phase == Phase::kEnd) {
      ASSERT_TRUE(job.ReadUntil("**** Done"));
      return;
    }
    // After a first step there is something to lose. The signal comes some milliseconds later: in
    // the middle of what the run does most of the time.
    folder.AwaitFile();
    folder.AwaitFile();
  }
};

TEST_P(BenchmarkFaultsTest, TheOthersEndInTimeAndSaveTheRun) {
  const auto [phase, signal, who] = GetParam();
  const auto [victim, ranks] = who;
  const std::string folder = NewFolder("faults");
  const std::vector<std::string> arguments = Arguments(phase, folder);
  WatchedFolder watched(folder);
  MpiJob job(kProgram, arguments, {.ranks = ranks, .recovery = true});
  Await(phase, job, watched);
  ASSERT_TRUE(job.SignalRank(victim, signal));

  const auto begin = std::chrono::steady_clock::now();
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank == victim) continue;
    ASSERT_TRUE(job.ReadUntil("rank " + std::to_string(rank) + " ended with"));
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(took.count(), 2 * kTimeout);
  job.KillRank(victim);
  const Outcome outcome = job.Wait();
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank == victim) continue;
    const int code = RankExitCode(outcome, rank);
    // A rank that had nothing more to ask of the lost one may have ended well.
    if (phase == Phase::kEnd && code == kExitDone) continue;
    // At the start nothing was saved yet.
    EXPECT_EQ(code, phase == Phase::kStart ? kExitFailed : kExitPeerLost)
        << "rank " << rank << ":\n"
        << outcome.text;
  }
  const std::string lost = "[^\n]*ranks? [0-9, ]*" + std::to_string(victim) + "[ ,:]";
  if (phase == Phase::kStart) {
    EXPECT_THAT(outcome.text, ContainsRegex("(rank [0-9]: the start of MPI|benchmark:)" + lost));
    return;
  }
  if (phase != Phase::kEnd) {  // where nobody may need it any more
    EXPECT_THAT(outcome.text,
                ContainsRegex("benchmark: rank [0-9]:" + lost + "[^\n]*--resume continues from"));
  }

  std::vector<std::string> again = arguments;
  again.insert(again.end(), {"--resume", "--num-epochs=1"});
  const Outcome resumed = MpiJob(kProgram, again, {.ranks = 1}).Wait();
  EXPECT_EQ(resumed.exit_code, 0) << resumed.text;
  EXPECT_THAT(resumed.text, HasSubstr("**** Resuming from"));
}

TEST(BenchmarkFaultsTest, WhereNothingCanBeSavedTryingAgainMakesNoSense) {
  const std::string folder = NewFolder("no_disk");
  MpiJob job(kProgram,
             {"--parallel=data", "--model=simplemlp", "--dataset=synthetic", "--batch-size=1",
              "--synthetic-train-samples=32", "--validation-split=0",
              "--schedulers=", "--num-epochs=1000000", "--checkpoint-dir=" + folder,
              "--checkpoint-freq=1000000", "--comm-timeout=" + std::to_string(kTimeout)},
             {.ranks = 3, .recovery = true});
  ASSERT_TRUE(job.ReadUntil(" 3/1000000"));
  std::filesystem::rename(folder, NewFolder("no_disk_elsewhere"));  // at once
  ASSERT_TRUE(job.SignalRank(0, SIGKILL));
  const Outcome outcome = job.Wait();
  for (const int rank : {1, 2}) EXPECT_EQ(RankExitCode(outcome, rank), kExitFailed) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("the last step cannot be saved: " + folder));
}

std::string CaseName(const ::testing::TestParamInfo<Case>& info) {
  const auto [phase, signal, who] = info.param;
  return std::string(signal == SIGKILL ? "Killed" : "Frozen") + "Rank" + std::to_string(who.rank) +
         "Of" + std::to_string(who.ranks) + "In" + Name(phase);
}

INSTANTIATE_TEST_SUITE_P(
    Phases, BenchmarkFaultsTest,
    ::testing::Combine(::testing::Values(Phase::kStart, Phase::kCompute, Phase::kExchange,
                                         Phase::kCheckpoint, Phase::kEnd),
                       ::testing::Values(SIGKILL, SIGSTOP),
                       ::testing::Values(Victim{0, 2}, Victim{1, 2}, Victim{2, 4})),
    CaseName);

}  // namespace
}  // namespace dtnn
