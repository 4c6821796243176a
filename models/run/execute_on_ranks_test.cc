// Runs whose ranks are processes that the test forks.

#include "models/run/execute_on_ranks.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "comm/local.h"
#include "comm/ranks/elastic/coordinator.h"
#include "comm/ranks/job/elastic_rank.h"
#include "comm/ranks/job/exit_code.h"
#include "comm/ranks/job/job_environment.h"
#include "comm/transport/tcp/socket.h"
#include "gtest/gtest.h"
#include "models/run/elastic_run.h"
#include "models/run/testing/run_fixture.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

constexpr char kSecret[] = "0123456789abcdef0123456789abcdef";

// A process that ends without a word after its second epoch.
struct Lost : Callback {
  absl::Status OnEpochEnd(const Pass& training, const Pass*) override {
    if (training.epoch == 1) _exit(7);
    return absl::OkStatus();
  }
};

// Meets by TCP at an address that only the options know.
class ExecuteOnRanksTest : public RunFixture {
 protected:
  // One rank, in a process of its own; `own`: its callbacks. Returns its id.
  pid_t Start(RunOptions options, const Endpoint& address, std::vector<Callback*> own = {},
              int rank = -1) {
    const pid_t child = fork();
    if (child != 0) return child;
    setenv(kSecretVariable, kSecret, 1);
    if (rank >= 0) {
      setenv(kRankVariable, std::to_string(rank).c_str(), 1);
      setenv(kSizeVariable, "2", 1);
    }
    options.ranks.parallel = Parallel::kData;
    options.ranks.transport = Transport::kTcp;
    options.ranks.rendezvous = address.ToString();
    options.ranks.timeout = 60;
    const auto objects = [&](const Communicator*) {
      RunObjects run = Objects();
      run.callbacks = own;
      return run;
    };
    const absl::Status status =
        ExecuteOnRanks(options, {.name = "test", .objects = objects}, std::cout, std::cerr);
    _exit(ReportStatus(status, "test", std::cerr));
  }

  NamedMetrics MetricsOf(const std::string& file) {
    return Model(file).description.training.metrics;
  }
  void ExpectAlike(const std::string& one, const std::string& other) {
    const NamedMetrics expected = MetricsOf(one), metrics = MetricsOf(other);
    ASSERT_EQ(metrics.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(metrics[i].first, expected[i].first);
      EXPECT_NEAR(metrics[i].second, expected[i].second, 1e-3) << expected[i].first;
    }
  }
  // Steps of 20 samples, on any number of ranks.
  static RunOptions Steps(int64_t epochs) {
    RunOptions options = Short(epochs);
    options.training.batch = {};
    options.training.global_batch = 20;
    return options;
  }
};

// Serves until both processes have ended; their exit codes.
std::vector<int> Serve(Coordinator& coordinator, const std::vector<pid_t>& processes) {
  std::vector<int> codes;
  for (const pid_t process : processes) {
    int status = 0;
    while (waitpid(process, &status, WNOHANG) == 0) {
      std::vector<pollfd> descriptors;
      coordinator.AddTo(descriptors);
      poll(descriptors.data(), descriptors.size(), 5);
      EXPECT_TRUE(coordinator.Turn(descriptors).ok());
    }
    codes.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : -1);
  }
  return codes;
}

int ExitCodeOfProcess(pid_t process) {
  int status = 0;
  waitpid(process, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(ExecuteOnRanksTest, RanksMeetWhereTheOptionsSay) {
  RunOptions options = Steps(2);
  options.output.model = In("alone.npz");
  Must(Begin(options)->Execute());
  options.output.model = In("both.npz");
  // A port that was free a moment ago, which rank 0 takes.
  const Endpoint address = Must(Must(Listen({.host = "127.0.0.1", .port = 0})).Local());
  const pid_t zero = Start(options, address, {}, 0), one = Start(options, address, {}, 1);
  EXPECT_EQ(ExitCodeOfProcess(zero), kExitDone);
  EXPECT_EQ(ExitCodeOfProcess(one), kExitDone);
  ExpectAlike("alone.npz", "both.npz");
}

TEST_F(ExecuteOnRanksTest, ClientsAreNotStartedTogether) {
  RunOptions options = Steps(1);
  options.ranks.parallel = Parallel::kFederated;
  options.ranks.transport = Transport::kTcp;
  options.ranks.rendezvous = "127.0.0.1:1";
  const std::pair<const char*, const char*> kVariables[] = {
      {kSecretVariable, kSecret}, {kRankVariable, "1"}, {kSizeVariable, "3"}};
  for (const auto& [name, value] : kVariables) setenv(name, value, 1);
  const absl::Status status = ExecuteOnRanks(options, {.name = "test"}, std::cout, std::cerr);
  for (const auto& [name, value] : kVariables) unsetenv(name);
  EXPECT_EQ(ExitCodeOf(status), kExitUsage);
  EXPECT_EQ(status.message(),
            "RunOptions::ranks.parallel=federated: 3 processes were started together; start each "
            "client by itself");
}

TEST_F(ExecuteOnRanksTest, ElasticRanksContinueWithoutOneThatIsLost) {
  RunOptions options = Steps(4);
  options.output = {.model = In("alone.npz"), .history = In("alone.csv")};
  RunOptions elastic = options;
  elastic.ranks.elastic = "1:2";
  elastic.output = {.model = In("m.npz"), .history = In("h.csv")};

  Socket listener = Must(Listen({.host = "127.0.0.1", .port = 0}));
  const Endpoint address = Must(listener.Local());
  Lost lost;
  const std::vector<pid_t> processes = {Start(elastic, address), Start(elastic, address, {&lost})};
  Coordinator coordinator({.range = {.min = 1, .max = 2}, .first = 2}, Must(JobSecret::Of(kSecret)),
                          std::move(listener));
  EXPECT_EQ(Serve(coordinator, processes), (std::vector<int>{0, 7}));
  EXPECT_EQ(coordinator.generation(), 2);

  Must(Begin(options)->Execute());
  ExpectAlike("alone.npz", "m.npz");
  const auto lines = [this](const std::string& file) {
    return std::ranges::count(Read(file), '\n');
  };
  EXPECT_EQ(lines("h.csv"), lines("alone.csv"));
}

// A rank that was given up before the generation began in which it was to hand it over.
TEST_F(ExecuteOnRanksTest, AStateThatNoLongerCountsIsNotHandedOver) {
  RunOptions options = Steps(2);
  options.output.model = In("alone.npz");
  Must(Begin(options)->Execute());

  Socket listener = Must(Listen({.host = "127.0.0.1", .port = 0}));
  const JobSecret secret = Must(JobSecret::Of(kSecret));
  const JobEnvironment job = {
      .rendezvous = {.address = Must(listener.Local())}, .secret = secret, .elastic = "1:1"};
  std::atomic<bool> done = false;
  std::thread serves([&] {
    Coordinator coordinator({.range = {.min = 1, .max = 1}, .first = 1}, secret,
                            std::move(listener));
    while (!done) {
      std::vector<pollfd> descriptors;
      coordinator.AddTo(descriptors);
      poll(descriptors.data(), descriptors.size(), 5);
      EXPECT_TRUE(coordinator.Turn(descriptors).ok());
    }
  });
  const auto rank = Must(ElasticRank::Create(job, {}));
  EXPECT_TRUE(Must(rank->Join({.holds_state = true})));
  (void)rank->TakeMesh();
  EXPECT_FALSE(rank->keeps_state());
  const auto group = Must(LocalGroup::Create(1));
  LastingRun lasting = {.rank = rank.get(), .kept = KeptRun{}};
  RunObjects objects = Objects();
  objects.communicator = group[0].get();
  options.ranks.parallel = Parallel::kData;
  options.ranks.elastic = job.elastic;
  options.output.model = In("rank.npz");
  EXPECT_EQ(ExecuteGeneration(options, std::move(objects), lasting), absl::OkStatus());
  done = true;
  serves.join();
  ExpectAlike("alone.npz", "rank.npz");
}

TEST_F(ExecuteOnRanksTest, RanksOfOneStartAreNotElastic) {
  RunOptions options = Steps(1);
  options.ranks.elastic = "1:2";
  const Endpoint address = Must(Must(Listen({.host = "127.0.0.1", .port = 0})).Local());
  const pid_t zero = Start(options, address, {}, 0), one = Start(options, address, {}, 1);
  EXPECT_EQ(ExitCodeOfProcess(zero), kExitUsage);
  EXPECT_EQ(ExitCodeOfProcess(one), kExitUsage);
}

// A program with words of its own puts them into what is wrong on any path.
TEST_F(ExecuteOnRanksTest, ErrorsAreReworded) {
  RunOptions options = Short(1);
  options.training.epochs = -1;
  const absl::Status status = ExecuteOnRanks(
      options,
      {.objects = [this](const Communicator*) { return Objects(); },
       .reword = [](const absl::Status&) { return absl::InternalError("in other words"); }},
      std::cout, std::cerr);
  EXPECT_EQ(status, absl::InternalError("in other words"));
}

}  // namespace
}  // namespace dtnn
