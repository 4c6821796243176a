// Training with ranks that meet without MPI: as with mpirun, and what happens when one is lost.

#include <signal.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "apps/testing/launch_job.h"
#include "apps/testing/mpi_job.h"
#include "apps/testing/process.h"
#include "apps/testing/texts.h"
#include "comm/ranks/job/exit_code.h"
#include "comm/transport/tcp/socket.h"
#include "comm/transport/tls/testing/host_files.h"
#include "data/testing/idx_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tensor/must.h"

namespace dtnn {
namespace {

using testing::Arguments;
using ::testing::ContainsRegex;
using testing::Contents;
using testing::Count;
using ::testing::HasSubstr;
using testing::kBenchmark;
using testing::kLaunch;
using testing::Launch;
using testing::MpiJob;
using testing::NewFolder;
using testing::Numbers;
using testing::Outcome;
using testing::Process;
using testing::Ranks;
using testing::RanksOf;
using testing::SmallRun;
using testing::With;

const Arguments kSmallRun = With(SmallRun(101), {"--learning-rate=0.05", "--schedulers="});

Outcome RunJob(int ranks, const Arguments& arguments) {
  return Process(kLaunch, Ranks(ranks, arguments)).Wait();
}

TEST(LaunchBenchmarkTest, LearnsWhatRanksOfMpirunLearn) {
  const std::string folder = NewFolder("history");
  for (const Arguments& how : std::vector<Arguments>{{"--use-blocking-mpi=False"},
                                                     {"--use-blocking-mpi=True"},
                                                     {"--use-mpi-buffers=False"}}) {
    const Arguments run = With(With(kSmallRun, how), {"--num-epochs=3", "--global-batch-size=12"});
    const std::string file = folder + "/mpi.csv";
    const Outcome mpi =
        MpiJob(kBenchmark, With(run, {"--history-file=" + file}), {.ranks = 2}).Wait();
    ASSERT_EQ(mpi.exit_code, 0) << mpi.text;
    const std::vector<double> expected = Numbers(Contents(file));
    ASSERT_GE(expected.size(), 3 * 3u);
    for (const int ranks : {1, 2, 3, 4}) {
      SCOPED_TRACE(how[0] + " " + std::to_string(ranks));
      const std::string own = folder + "/" + std::to_string(ranks) + ".csv";
      const Outcome outcome = RunJob(ranks, With(run, {"--history-file=" + own}));
      ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
      EXPECT_EQ(Count(outcome.text, "**** Done..."), 1) << outcome.text;
      const std::vector<double> numbers = Numbers(Contents(own));
      ASSERT_EQ(numbers.size(), expected.size());
      for (size_t i = 0; i < numbers.size(); ++i) {
        EXPECT_NEAR(numbers[i], expected[i], 1e-12 * (1 + std::abs(expected[i]))) << i;
      }
    }
  }
}

TEST(LaunchBenchmarkTest, TheTransportAndTheCommandAreSaid) {
  const Outcome outcome = RunJob(2, With(kSmallRun, {"--num-epochs=1", "--batch-size=4"}));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_THAT(outcome.text, ContainsRegex("transport +: tcp"));
  EXPECT_THAT(outcome.text, HasSubstr(" on each of 2 ranks"));
  EXPECT_EQ(Count(outcome.text, "warning"), 0) << outcome.text;
}

void SignalRank(const Process& job, int rank, int number) {
  const std::map<int, pid_t> ranks = RanksOf(job.pid());
  ASSERT_TRUE(ranks.contains(rank));
  ASSERT_EQ(kill(ranks.at(rank), number), 0);
}

// A folder with what ranks on this host need for TLS.
std::string Certificates() {
  const std::string folder = NewFolder("certificates");
  testing::WriteHostFiles(folder, "localhost");
  return folder;
}

// This process has it for a while, and so those that it starts then.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~ScopedVariable() { unsetenv(name_); }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  const char* name_;
};

TEST(LaunchBenchmarkTest, WithTlsTheSameIsLearnt) {
  const std::string folder = NewFolder("tls");
  const Arguments run =
      With(kSmallRun, {"--num-epochs=2", "--batch-size=4", "--use-blocking-mpi=False"});
  const Arguments plain = With(run, {"--history-file=" + folder + "/plain.csv"});
  const Arguments tls = With(run, {"--history-file=" + folder + "/tls.csv"});
  EXPECT_EQ(RunJob(3, plain).exit_code, 0);
  for (const char* shares : {"yes", "no"}) {  // then TLS carries no more than the agreement on it
    const ScopedVariable memory("DTNN_SHARED_MEMORY", shares);
    const Outcome outcome =
        Process(kLaunch, Ranks(3, tls, {"--certificates=" + Certificates()})).Wait();
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_EQ(Numbers(Contents(folder + "/tls.csv")), Numbers(Contents(folder + "/plain.csv")));
    std::filesystem::remove(folder + "/tls.csv");
  }
}

void ExpectACheckpointAfterTheLossOfARank(int number, const Arguments& options,
                                          const Arguments& arguments = {}) {
  const std::string folder = NewFolder("lost");
  const Arguments run = With(With(kSmallRun, {"--batch-size=4", "--checkpoint-dir=" + folder,
                                              "--comm-timeout=6", "--use-blocking-mpi=False"}),
                             arguments);
  Process job(kLaunch, Ranks(3, With(run, {"--num-epochs=1000000"}), options));
  ASSERT_TRUE(job.ReadUntil(" 3/1000000"));
  SignalRank(job, 1, number);
  const Outcome outcome = job.Wait();
  EXPECT_EQ(outcome.exit_code, kExitPeerLost) << outcome.text;
  EXPECT_THAT(outcome.text,
              ContainsRegex("benchmark: rank 0:[^\n]*rank 1[ ,][^\n]*--resume continues from"));
  const Outcome resumed =
      RunJob(2, With(run, {"--resume", "--num-epochs=1"}));  // all epochs are done
  EXPECT_EQ(resumed.exit_code, 0) << resumed.text;
  EXPECT_THAT(resumed.text, HasSubstr("**** Resuming from"));
}

// Ranks whose trace is whole, that is closed, in a folder that holds nothing else.
void ExpectTraces(const std::string& folder, const std::vector<int>& ranks) {
  std::set<std::string> expected, found;
  for (const int rank : ranks) expected.insert("trace.rank" + std::to_string(rank) + ".json");
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    found.insert(entry.path().filename());
  }
  EXPECT_EQ(found, expected);
  for (const int rank : ranks) {
    std::ifstream file(folder + "/trace.rank" + std::to_string(rank) + ".json");
    const nlohmann::json trace =
        nlohmann::json::parse(file, /*cb=*/nullptr, /*allow_exceptions=*/false);
    ASSERT_FALSE(trace.is_discarded()) << "rank " << rank;
    int steps = 0;
    for (const auto& event : trace.at("traceEvents")) {
      EXPECT_EQ(event.at("pid"), rank + 1);
      steps += event.at("name") == "step";
    }
    EXPECT_GT(steps, 3) << "rank " << rank;
  }
}

// Kills one rank of a run that is traced.
void ExpectTracesOfTheOthers(int ranks, int victim, const std::vector<std::string>& options,
                             const std::vector<std::string>& arguments) {
  const std::string folder = NewFolder("traced");
  const std::vector<std::string> run =
      With(kSmallRun,
           {"--batch-size=4", "--num-epochs=1000000", "--tracer-output=" + folder + "/trace.json"});
  Process job(kLaunch, Ranks(ranks, With(run, arguments), options));
  ASSERT_TRUE(job.ReadUntil(" 3/1000000"));
  SignalRank(job, victim, SIGKILL);
  const Outcome outcome = job.Wait();
  EXPECT_NE(outcome.exit_code, 0) << outcome.text;
  std::vector<int> others(static_cast<size_t>(ranks));
  std::iota(others.begin(), others.end(), 0);
  std::erase(others, victim);
  ExpectTraces(folder, others);
}

TEST(LaunchBenchmarkTest, TheTracesOfTheOthersOfAKilledRankAreWhole) {
  for (const int victim : {0, 2}) ExpectTracesOfTheOthers(4, victim, {}, {"--comm-timeout=6"});
}

TEST(LaunchBenchmarkTest, TheTracesOf63RanksAreWholeWhenThe64thIsKilled) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "64 processes with a sanitizer take more memory than machines of CI have";
#endif
  // Two steps per epoch, in which each rank has samples.
  ExpectTracesOfTheOthers(64, 17, {"--grace=60"},
                          {"--comm-timeout=60", "--synthetic-train-samples=640"});
}

TEST(LaunchBenchmarkTest, AKilledRankLeavesACheckpoint) {
  ExpectACheckpointAfterTheLossOfARank(SIGKILL, {});
}

TEST(LaunchBenchmarkTest, AKilledRankLeavesACheckpointWithLessOnTheWire) {
  ExpectACheckpointAfterTheLossOfARank(SIGKILL, {}, {"--gradient-compression=bf16"});
  ExpectACheckpointAfterTheLossOfARank(SIGKILL, {}, {"--optimizer=oktopk", "--dtype=float32"});
}

TEST(LaunchBenchmarkTest, AFrozenRankLeavesACheckpoint) {
  ExpectACheckpointAfterTheLossOfARank(SIGSTOP, {"--grace=3"});
}

TEST(LaunchBenchmarkTest, AKilledRankLeavesACheckpointWithTls) {
  const ScopedVariable memory("DTNN_SHARED_MEMORY", "no");
  ExpectACheckpointAfterTheLossOfARank(SIGKILL, {"--certificates=" + Certificates()});
}

TEST(LaunchBenchmarkTest, CtrlCEndsAllAfterTheSameStepAndSaves) {
  const std::string folder = NewFolder("signal");
  const Arguments run =
      With(kSmallRun, {"--batch-size=4", "--checkpoint-dir=" + folder, "--checkpoint-freq=10000"});
  Process job(kLaunch, Ranks(3, With(run, {"--num-epochs=1000000"})));
  ASSERT_TRUE(job.ReadUntil(" 3/1000000"));
  job.Signal(SIGINT);
  const Outcome stopped = job.Wait();
  EXPECT_EQ(stopped.exit_code, ExitCodeOfSignal(SIGINT)) << stopped.text;
  EXPECT_EQ(Count(stopped.text, "stopped by SIGINT after "), 1) << stopped.text;
  const Outcome resumed = RunJob(3, With(run, {"--resume", "--num-epochs=1"}));
  EXPECT_EQ(resumed.exit_code, 0) << resumed.text;
  EXPECT_THAT(resumed.text, HasSubstr("**** Resuming from")) << resumed.text;
}

TEST(LaunchBenchmarkTest, AWrongFlagIsToldOnce) {
  for (const char* wrong : {"--nonsense", "--global-batch-size=7", "--rendezvous=nowhere"}) {
    const Outcome outcome = RunJob(2, With(kSmallRun, {wrong}));
    EXPECT_EQ(outcome.exit_code, kExitUsage) << outcome.text;
    EXPECT_EQ(Count(outcome.text, "benchmark: "), 1) << outcome.text;
  }
}

TEST(LaunchBenchmarkTest, RanksThatDoNotMeetDoNotAllTrain) {
  for (const char* parallel : {"--parallel=data", "--parallel=sequential"}) {
    const Outcome outcome = RunJob(2, With(kSmallRun, {"--transport=mpi", parallel}));
    EXPECT_EQ(outcome.exit_code, kExitUsage) << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr("PYMPI_SIZE=2: this process is one of several ranks"));
    EXPECT_EQ(Count(outcome.text, "**** Done..."), 0) << outcome.text;
  }
}

TEST(LaunchBenchmarkTest, RanksThatAreStartedByHandNeedAPlaceAndASecret) {
  const auto run = [](const std::string& variables, const std::string& flags) {
    return Launch(variables + " " + std::string(kBenchmark),
                  "--model=simplecnn --dataset=synthetic --parallel=data " + flags);
  };
  const std::string secret = "DTNN_JOB_SECRET=0123456789abcdef0123456789abcdef";
  const Outcome no_secret = run("PYMPI_RANK=0 PYMPI_SIZE=2", "--transport=tcp");
  EXPECT_EQ(no_secret.exit_code, kExitUsage);
  EXPECT_THAT(no_secret.text, HasSubstr("neither DTNN_JOB_SECRET nor DTNN_JOB_SECRET_FILE"));
  const Outcome no_place = run(secret, "--transport=tcp");
  EXPECT_EQ(no_place.exit_code, kExitUsage);
  EXPECT_THAT(no_place.text, HasSubstr("neither PYMPI_RANK nor PYMPI_SIZE is set"));
  const Outcome no_transport = run("PYMPI_PROTO=pigeon", "");
  EXPECT_EQ(no_transport.exit_code, kExitUsage);
  EXPECT_THAT(no_transport.text, HasSubstr("PYMPI_PROTO=\"pigeon\": there is no such transport"));
  const Outcome elsewhere =
      run(secret + " PYMPI_RANK=0 PYMPI_SIZE=2", "--transport=tcp --rendezvous=10.0.0.7:5000");
  EXPECT_EQ(elsewhere.exit_code, kExitUsage);
  EXPECT_THAT(elsewhere.text,
              HasSubstr("PYMPI_SSL_CERT is not set: ranks that meet at 10.0.0.7 show each"));
}

TEST(LaunchBenchmarkTest, FlagsAndVariablesDoWithoutTheLauncher) {
  const std::string folder = NewFolder("by_hand");
  std::ofstream(folder + "/secret") << std::string(40, 's') << "\n";
  std::filesystem::permissions(folder + "/secret", std::filesystem::perms::owner_read);
  setenv("DTNN_JOB_SECRET_FILE", (folder + "/secret").c_str(), 1);
  setenv("PYMPI_SIZE", "2", 1);
  // A port that was free a moment ago, which rank 0 takes.
  const std::string port =
      std::to_string(Must(Must(Listen({.host = "127.0.0.1", .port = 0})).Local()).port);
  const Arguments arguments = With(
      kSmallRun,
      {"--num-epochs=1", "--transport=tcp", "--rendezvous=127.0.0.1:" + port, "--comm-timeout=60"});
  setenv("PYMPI_RANK", "0", 1);
  Process zero(kBenchmark, arguments);
  setenv("PYMPI_RANK", "1", 1);
  Process one(kBenchmark, arguments);
  EXPECT_EQ(one.Wait().exit_code, 0);
  const Outcome outcome = zero.Wait();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("**** Done..."));
  for (const char* name : {"DTNN_JOB_SECRET_FILE", "PYMPI_SIZE", "PYMPI_RANK"}) unsetenv(name);
}

}  // namespace
}  // namespace dtnn
