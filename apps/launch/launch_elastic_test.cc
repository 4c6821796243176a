// Runs that outlive their ranks: ranks are killed, frozen, woken and added at random moments, and
// what is learnt is what one rank learns that nobody disturbs.
//
// DTNN_ELASTIC_RUNS: how many random runs; DTNN_ELASTIC_SEED: the first one's seed.

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "apps/testing/elastic_job.h"
#include "apps/testing/launch_job.h"
#include "apps/testing/process.h"
#include "apps/testing/texts.h"
#include "comm/ranks/job/exit_code.h"
#include "data/testing/idx_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Arguments;
using ::testing::ContainsRegex;
using testing::Contents;
using testing::Count;
using testing::ElasticJob;
using ::testing::HasSubstr;
using testing::kBenchmark;
using testing::kLaunch;
using testing::NewFolder;
using testing::Numbers;
using testing::Outcome;
using testing::Process;
using testing::RanksOf;
using testing::SmallRun;
using testing::With;

constexpr int kEpochs = 150;

// 281 samples to train on: the last step of an epoch has 41.
Arguments TrainingRun(const std::string& folder, int epochs = kEpochs) {
  return With(
      SmallRun(401),
      {"--optimizer=adam", "--learning-rate=0.0003", "--schedulers=reduce_lr_every_nepochs",
       "--reduce-lr-every-nepochs-nepochs=30", "--reduce-lr-every-nepochs-factor=0.7",
       "--use-blocking-mpi=False", "--global-batch-size=60", "--comm-timeout=6", "--evaluate",
       "--num-epochs=" + std::to_string(epochs), "--history-file=" + folder + "/history.csv",
       "--checkpoint-dir=" + folder + "/checkpoints", "--save-model=" + folder + "/model.npz"});
}

std::set<std::string> Names(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.insert(entry.path().filename());
  }
  return names;
}

// What a run leaves that nobody disturbs.
struct Expected {
  std::vector<double> history;
  std::string newest;  // the name of its last checkpoint, which says how many steps were done
};

const Expected& Undisturbed() {
  static const Expected expected = [] {
    const std::string folder = NewFolder("undisturbed");
    const Outcome outcome =
        Process(kBenchmark, With(TrainingRun(folder), {"--parallel=sequential"})).Wait();
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    const std::set<std::string> names = Names(folder + "/checkpoints");
    return Expected{Numbers(Contents(folder + "/history.csv")),
                    names.empty() ? "" : *names.rbegin()};
  }();
  return expected;
}

// Every epoch is there, each of its samples counted once, and the files are whole.
void ExpectUndisturbed(const std::string& folder) {
  const Expected& expected = Undisturbed();
  const std::vector<double> numbers = Numbers(Contents(folder + "/history.csv"));
  ASSERT_EQ(numbers.size(), expected.history.size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    ASSERT_NEAR(numbers[i], expected.history[i], 1e-8 * (1 + std::abs(expected.history[i]))) << i;
  }
  EXPECT_TRUE(std::filesystem::exists(folder + "/model.npz"));
  std::set<std::string> names = Names(folder + "/checkpoints");
  EXPECT_TRUE(names.contains(expected.newest)) << expected.newest;
  names.erase(".lock");
  for (const std::string& name : names) EXPECT_TRUE(name.ends_with(".npz")) << name;
}

std::string Epoch(int epoch) { return " " + std::to_string(epoch) + "/" + std::to_string(kEpochs); }

TEST(LaunchElasticTest, TheOthersGoOnWhicheverRankIsKilled) {
  for (const int victim : {0, 2}) {
    SCOPED_TRACE(victim);
    const std::string folder = NewFolder("killed" + std::to_string(victim));
    ElasticJob job(folder, 3, {"--elastic=1:4"}, TrainingRun(folder));
    ASSERT_TRUE(job.launch().ReadUntil(Epoch(3)));
    ASSERT_EQ(kill(job.Rank(victim), SIGKILL), 0);
    const Outcome outcome = job.Wait();
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_THAT(outcome.text, ContainsRegex("generation 2 of the ranks: 2 ranks, after"));
    EXPECT_THAT(outcome.text, HasSubstr("was ended by signal 9; 2 run"));
    ExpectUndisturbed(folder);
  }
}

TEST(LaunchElasticTest, TheOthersOfAFrozenRankGoOnAndItComesBack) {
  const std::string folder = NewFolder("frozen");
  ElasticJob job(folder, 2, {"--elastic=1:4"}, TrainingRun(folder, 1'000'000));
  ASSERT_TRUE(job.launch().ReadUntil(" 3/1000000"));
  const pid_t frozen = job.Rank(0);
  ASSERT_EQ(kill(frozen, SIGSTOP), 0);
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(job.launch().ReadUntil("generation 2 of the ranks: 1 rank, after"))
      << job.launch().text();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10 * seconds(6));
  ASSERT_EQ(kill(frozen, SIGCONT), 0);
  ASSERT_TRUE(job.launch().ReadUntil("generation 3 of the ranks: 2 ranks, after"))
      << job.launch().text().substr(0, 30'000);  // of many thousand epochs
  job.launch().Signal(SIGTERM);
  const Outcome outcome = job.Wait();
  EXPECT_EQ(outcome.exit_code, ExitCodeOfSignal(SIGTERM)) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("--resume continues from here"));
}

TEST(LaunchElasticTest, NewRanksAreTakenInAndOneTooManyWaits) {
  const std::string folder = NewFolder("added");
  ElasticJob job(folder, 1, {"--elastic=1:2"}, TrainingRun(folder));
  job.Add("1:2");
  ASSERT_TRUE(job.launch().ReadUntil("generation 2 of the ranks: 2 ranks, after"));
  job.Add("1:2");
  const Outcome outcome = job.Wait();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  ExpectUndisturbed(folder);
  EXPECT_EQ(job.added(0).Wait().exit_code, 0);
  const Outcome spare = job.added(1).Wait();
  EXPECT_EQ(spare.exit_code, 0) << spare.text;
  EXPECT_THAT(spare.text, HasSubstr("the run has ended without this process"));
}

TEST(LaunchElasticTest, OneThatDoesNotFitIsRefusedAndTheOthersGoOn) {
  const std::string folder = NewFolder("misfit");
  ElasticJob job(folder, 2, {"--elastic=1:4"}, TrainingRun(folder));
  ASSERT_TRUE(job.launch().ReadUntil(Epoch(2)));
  job.Add("1:4", {"--learning-rate=0.5"});
  const Outcome refused = job.added(0).Wait();
  EXPECT_EQ(refused.exit_code, kExitUsage) << refused.text;
  EXPECT_THAT(refused.text, HasSubstr("differs from the value on rank 0"));
  const Outcome outcome = job.Wait();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  ExpectUndisturbed(folder);
}

TEST(LaunchElasticTest, AKilledRankIsReplacedAsOftenAsIsSaid) {
  const std::string folder = NewFolder("replaced");
  ElasticJob job(folder, 2, {"--elastic=2:2", "--restarts=2"}, TrainingRun(folder));
  for (const int generation : {2, 3}) {
    ASSERT_TRUE(job.launch().ReadUntil(Epoch(generation * 10)));
    ASSERT_EQ(kill(job.Rank(generation - 2), SIGKILL), 0);
    ASSERT_TRUE(job.launch().ReadUntil("generation " + std::to_string(generation) +
                                       " of the ranks: 2 ranks, after"))
        << job.launch().text();
  }
  const Outcome outcome = job.Wait();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("another is started, 1 more may be"));
  EXPECT_THAT(outcome.text, HasSubstr("another is started, 0 more may be"));
  ExpectUndisturbed(folder);
}

// One of them is started again, and with it there are enough, although the other never comes back.
TEST(LaunchElasticTest, ARankFromElsewhereWaitsForOneThatIsStartedAgain) {
  const std::string folder = NewFolder("elsewhere");
  ElasticJob job(folder, 2, {"--elastic=2:4", "--restarts=1"}, TrainingRun(folder));
  job.Add("2:4");
  ASSERT_TRUE(job.launch().ReadUntil("generation 2: 3 ranks"));
  ASSERT_TRUE(job.launch().ReadUntil("generation 2 of the ranks: 3 ranks, after"));
  int epoch = 1;  // that has not begun: the third rank has a state of its own in it
  while (job.launch().text().find(Epoch(epoch)) != std::string::npos) ++epoch;
  ASSERT_TRUE(job.launch().ReadUntil(Epoch(epoch + 1)));
  const std::map<int, pid_t> own = RanksOf(job.launch().pid());
  ASSERT_EQ(own.size(), 2u);
  for (const auto& [rank, pid] : own) ASSERT_EQ(kill(pid, SIGKILL), 0);
  const Outcome outcome = job.Wait();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_THAT(outcome.text, ContainsRegex("generation 3: 2 ranks, which continue"));
  EXPECT_EQ(job.added(0).Wait().exit_code, 0);
}

TEST(LaunchElasticTest, FewerThanTheLeastSaveACheckpoint) {
  const std::string folder = NewFolder("too_few");
  ElasticJob job(folder, 3, {"--elastic=2:3"}, TrainingRun(folder));
  ASSERT_TRUE(job.launch().ReadUntil(Epoch(3)));
  for (const int victim : {0, 1}) ASSERT_EQ(kill(job.Rank(victim), SIGKILL), 0);
  const Outcome outcome = job.Wait();
  EXPECT_EQ(outcome.exit_code, kExitPeerLost) << outcome.text;
  EXPECT_THAT(outcome.text, ContainsRegex("fewer than the 2 ranks are left[^\n]*; --resume "
                                          "continues from"));
  const Outcome resumed =
      Process(kLaunch, testing::Ranks(2, With(TrainingRun(folder), {"--resume"}))).Wait();
  EXPECT_EQ(resumed.exit_code, 0) << resumed.text;
  ExpectUndisturbed(folder);
}

TEST(LaunchElasticTest, CtrlCEndsAllWithACheckpoint) {
  const std::string folder = NewFolder("signal");
  ElasticJob job(folder, 3, {"--elastic=1:3", "--restarts=5"}, TrainingRun(folder, 1'000'000));
  ASSERT_TRUE(job.launch().ReadUntil(" 3/1000000"));
  job.launch().Signal(SIGINT);
  const Outcome outcome = job.Wait();
  EXPECT_EQ(outcome.exit_code, ExitCodeOfSignal(SIGINT)) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("--resume continues from here"));
}

TEST(LaunchElasticTest, WhatCannotBeElasticSaysSo) {
  const auto fails = [](const Arguments& launch, const Arguments& run) {
    Arguments all = TrainingRun(NewFolder("refused"));
    if (std::ranges::count(run, "--batch-size=4") > 0) std::erase(all, "--global-batch-size=60");
    return Process(kLaunch, With(launch, With({"--", kBenchmark}, With(all, run)))).Wait();
  };
  for (const auto& [outcome, text] : std::vector<std::pair<Outcome, std::string>>{
           {fails({"-n", "2", "--elastic=3:2"}, {}), "must be MIN:MAX"},
           {fails({"-n", "5", "--elastic=2:4"}, {}), "--ranks=5: must be from 2 to 4"},
           {fails({"-n", "2", "--elastic=2:4", "--transport=grpc"}, {}), "needs --transport=tcp"},
           {fails({"-n", "0"}, {}), "--ranks=0: must be at least 1"},
           {fails({"-n", "2", "--elastic=2:7"}, {}), "must be a multiple of every number of ranks"},
           {fails({"-n", "2"}, {"--elastic=2:4", "--transport=grpc"}),
            "--elastic: needs --transport=tcp, not grpc"},
           {fails({"-n", "2", "--elastic=1:30"}, {"--batch-size=4"}),
            "a part of the data has only 23 samples"}}) {
    EXPECT_EQ(outcome.exit_code, kExitUsage) << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr(text));
  }
}

// One run of the specification: 2 to 6 ranks, with losses, returns and newcomers.
struct Events {
  int killed = 0, frozen = 0, woken = 0, added = 0, restarted = 0, generations = 0;
};

Events DisturbedRun(unsigned seed) {
  std::mt19937 random(seed);
  const auto number = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  const std::string folder = NewFolder("random" + std::to_string(seed));
  const int ranks = number(2, 6), restarts = number(0, 2);
  ElasticJob job(folder, ranks, {"--elastic=1:6", "--restarts=" + std::to_string(restarts)},
                 TrainingRun(folder));
  // One of the first ranks, whichever, lives: else the state could be lost with all.
  const int safe = number(0, ranks - 1);
  Events events;
  std::vector<pid_t> added, frozen;
  int epoch = 0;
  while (true) {
    epoch += number(4, 20);
    if (epoch >= kEpochs - 2) break;
    if (!job.launch().ReadUntil(Epoch(epoch))) break;
    std::this_thread::sleep_for(milliseconds(number(0, 40)));  // anywhere in an epoch
    std::vector<pid_t> victims;
    for (const auto& [rank, pid] : RanksOf(job.launch().pid())) {
      if (rank != safe && std::ranges::count(frozen, pid) == 0) victims.push_back(pid);
    }
    for (const pid_t pid : added) {
      if (std::ranges::count(frozen, pid) == 0) victims.push_back(pid);
    }
    const int kind = number(0, 9);
    if (kind < 5 && !victims.empty()) {
      const pid_t victim = victims[size_t(number(0, int(victims.size()) - 1))];
      kill(victim, SIGKILL);
      std::erase(added, victim);
      ++events.killed;
    } else if (kind < 7 && !victims.empty()) {
      frozen.push_back(victims[size_t(number(0, int(victims.size()) - 1))]);
      kill(frozen.back(), SIGSTOP);
      ++events.frozen;
    } else if (kind < 8 && !frozen.empty()) {
      kill(frozen.back(), SIGCONT);
      frozen.pop_back();
      ++events.woken;
    } else {
      added.push_back(job.Add("1:6"));
      ++events.added;
    }
  }
  const Outcome outcome = job.Wait();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  ExpectUndisturbed(folder);
  events.restarted = Count(outcome.text, "another is started");
  events.generations = Count(outcome.text, "launch: generation ");
  if (::testing::Test::HasFailure()) std::cerr << outcome.text;
  return events;
}

TEST(LaunchElasticTest, WhateverHappensTheSameIsLearnt) {
  const char* const wanted = std::getenv("DTNN_ELASTIC_RUNS");
  const char* const first = std::getenv("DTNN_ELASTIC_SEED");
  const int runs = wanted == nullptr ? 3 : std::atoi(wanted);
  Events all;
  for (int run = 0; run < runs; ++run) {
    const unsigned seed = unsigned(run + (first == nullptr ? 1 : std::atoi(first)));
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const auto begin = std::chrono::steady_clock::now();
    const Events events = DisturbedRun(seed);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    std::cout << "seed " << seed << ": " << events.killed << " killed, " << events.frozen
              << " frozen, " << events.woken << " woken, " << events.added << " added, "
              << events.restarted << " restarted, " << events.generations << " generations, "
              << time.count() << " s\n"
              << std::flush;
    all.killed += events.killed;
    all.frozen += events.frozen;
    all.woken += events.woken;
    all.added += events.added;
    all.restarted += events.restarted;
    all.generations += events.generations;
    if (HasFailure()) break;
  }
  std::cout << runs << " runs: " << all.killed << " killed, " << all.frozen << " frozen, "
            << all.woken << " woken, " << all.added << " added, " << all.restarted << " restarted, "
            << all.generations << " generations\n";
  EXPECT_GT(all.killed + all.frozen, 0);
}

}  // namespace
}  // namespace dtnn
