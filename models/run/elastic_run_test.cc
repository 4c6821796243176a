// An elastic run whose ranks are processes that the test forks, with a coordinator in the test.

#include "models/run/elastic_run.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "comm/ranks/elastic/coordinator.h"
#include "comm/ranks/job/job_environment.h"
#include "comm/ranks/job/rank_process.h"
#include "comm/transport/tcp/socket.h"
#include "gtest/gtest.h"
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

class ElasticRunTest : public RunFixture {
 protected:
  // One rank, in a process of its own; `own`: its callbacks. Returns its id.
  pid_t Start(const RunOptions& options, const Endpoint& coordinator,
              std::vector<Callback*> own = {}) {
    const pid_t child = fork();
    if (child != 0) return child;
    setenv(kAddressVariable, coordinator.host.c_str(), 1);
    setenv(kPortVariable, std::to_string(coordinator.port).c_str(), 1);
    setenv(kSecretVariable, kSecret, 1);
    setenv(kElasticVariable, options.ranks.elastic.c_str(), 1);
    LastingRun lasting;
    const absl::Status status =
        RunAsElasticRank({.transport = Transport::kTcp},
                         {.program = "test", .communicator = {.timeout = std::chrono::seconds(60)}},
                         std::cout, std::cerr, [&](Communicator& communicator, ElasticRank& rank) {
                           lasting.rank = &rank;
                           RunObjects objects = Objects();
                           objects.callbacks = own;
                           objects.communicator = &communicator;
                           return ExecuteGeneration(options, std::move(objects), lasting);
                         });
    _exit(status.ok() ? 0 : 1);
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

TEST_F(ElasticRunTest, ContinuesWithoutARankThatIsLost) {
  RunOptions options = Short(4);
  options.training.batch = {};
  options.training.global_batch = 20;
  options.output = {.model = In("alone.npz"), .history = In("alone.csv")};
  RunOptions elastic = options;
  elastic.ranks = {.parallel = Parallel::kData, .elastic = "1:2"};
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
  const auto metrics = [this](const std::string& file) {
    return Model(file).description.training.metrics;
  };
  const NamedMetrics alone = metrics("alone.npz"), left = metrics("m.npz");
  ASSERT_EQ(left.size(), alone.size());
  for (size_t i = 0; i < alone.size(); ++i) {
    EXPECT_EQ(left[i].first, alone[i].first);
    EXPECT_NEAR(left[i].second, alone[i].second, 1e-3) << alone[i].first;
  }
  const auto lines = [this](const std::string& file) {
    return std::ranges::count(Read(file), '\n');
  };
  EXPECT_EQ(lines("h.csv"), lines("alone.csv"));
}

}  // namespace
}  // namespace dtnn
