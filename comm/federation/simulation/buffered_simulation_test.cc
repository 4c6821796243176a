// Simulated rounds that do not wait.

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "comm/federation/simulation/client_seconds.h"
#include "comm/federation/simulation/simulation_seed.h"
#include "comm/federation/testing/simulation_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn::federation {
namespace {

using ::testing::HasSubstr;

class BufferedSimulationTest : public SimulationTest {
 protected:
  BufferedSimulationTest() {
    while (clients_.size() < 9) AddClient();
    simulation_.rounds = 12;
    simulation_.clients_per_round = 6;
    simulation_.min_clients = 1;
    simulation_.buffer.size = 3;
    simulation_.client_seconds.spread = 1;
    simulation_.seed = 3;
  }

  // From the beginning.
  absl::Status Again(int threads) {
    simulated_ = {};
    simulated_.parameters.assign(kValues, 1);
    simulated_records_.clear();
    return Simulate(threads);
  }

  double SecondsOfClient(const std::string& name) {
    const auto client = std::ranges::find(clients_, name, &SimulatedClient::name);
    return Must(SecondsOf(simulation_.client_seconds, Must(SimulationSeed::Of(simulation_.seed)),
                          int(client - clients_.begin())));
  }
};

TEST_F(BufferedSimulationTest, TheBitsDoNotDependOnThreads) {
  simulation_.drop_out = 0.2;
  simulation_.liars = 2;
  simulation_.lie = -0.5;
  simulation_.strategy.strategy = Strategy::kFedadam;
  simulation_.buffer.max_staleness = 1;
  simulation_.client_seconds.spread = 2;
  simulation_.rounds = 20;
  // Two that decline, also where their updates would be too stale.
  train_ = [train = train_](int thread, int client, const RoundTask& task) {
    if (client == 2 || client == 7) {
      return absl::StatusOr<SimulatedUpdate>(SimulatedUpdate{.declined = "it has diverged"});
    }
    return train(thread, client, task);
  };
  std::vector<float> first;
  std::vector<std::string> events;
  for (const int threads : {1, 2, 4}) {
    ASSERT_EQ(Again(threads), absl::OkStatus()) << said();
    std::string text;
    for (const RoundRecord& record : simulated_records_) {
      StrAppend(&text, record.round, " after ", *record.simulated_seconds, ":");
      for (const Asked& asked : record.clients) {
        StrAppend(&text, " ", asked.name, "/", int(asked.state), "/", asked.staleness, "/",
                  asked.report.samples, "/", asked.report.metrics.size(), "/", asked.why);
      }
    }
    events.push_back(text);
    if (first.empty()) first = simulated_.parameters;
    EXPECT_EQ(simulated_.parameters, first) << threads;
    EXPECT_EQ(text, events[0]) << threads;
  }
  for (const std::string why : {"it has dropped out", "it has diverged", "too stale"}) {
    EXPECT_THAT(events[0], HasSubstr(why));
  }
}

// The clock by hand: fast clients are in more rounds than slow ones, and nobody waits for the
// slowest.
TEST_F(BufferedSimulationTest, UpdatesComeInTheOrderOfTheClock) {
  ASSERT_EQ(Simulate(), absl::OkStatus()) << said();
  std::map<std::string, double> free;  // when each is asked again at the earliest
  double now = 0;
  bool some_stale = false;
  for (const RoundRecord& record : simulated_records_) {
    now += *record.simulated_seconds;
    EXPECT_EQ(record.clients.size(), 3u);
    for (const Asked& asked : record.clients) {
      free[asked.name] += SecondsOfClient(asked.name);
      EXPECT_LE(free[asked.name], now + 1e-9) << "it takes its time";
      some_stale |= asked.staleness > 0;
      EXPECT_EQ(asked.state, Asked::State::kAccepted);
    }
    EXPECT_EQ(record.attempts, 1u);
  }
  EXPECT_TRUE(some_stale);
  double slowest = 0;
  for (const SimulatedClient& client : clients_) {
    slowest = std::max(slowest, SecondsOfClient(client.name));
  }
  EXPECT_LT(now, 12 * slowest / 2) << "as long as rounds that wait would take for half of them";
  EXPECT_EQ(simulated_.rounds_done, 12);
}

// All are asked at once, answer at once, and are asked again when the parameters have moved.
TEST_F(BufferedSimulationTest, WithEqualTimesAndAllClientsItIsTheRoundThatWaits) {
  simulation_.client_seconds.spread = 0;
  simulation_.buffer.size = simulation_.clients_per_round = simulation_.min_clients = 9;
  simulation_.strategy.strategy = Strategy::kAvg;
  simulation_.rounds = 4;
  // Numbers of which sums and differences are exact: each round halves the parameters.
  train_ = [this](int thread, int client, const RoundTask& task) {
    std::vector<float>& own = trained_[size_t(thread)];
    own = task.parameters;
    for (size_t i = 0; i < own.size(); ++i) {
      own[i] = 0.5f * own[i] + float(client - 4) * float(i % 5);
    }
    return absl::StatusOr<SimulatedUpdate>(
        SimulatedUpdate{.parameters = own, .report = {.samples = SamplesOf(client), .seconds = 1}});
  };
  ASSERT_EQ(Again(2), absl::OkStatus()) << said();
  const std::vector<float> buffered = simulated_.parameters;
  for (const RoundRecord& record : simulated_records_) {
    EXPECT_EQ(record.buffer->staleness, 0);
    EXPECT_EQ(*record.simulated_seconds, 1);
  }
  simulation_.buffer.size = 0;
  ASSERT_EQ(Again(2), absl::OkStatus()) << said();
  EXPECT_EQ(buffered, simulated_.parameters);
  EXPECT_EQ(buffered, std::vector<float>(kValues, 0.0625f)) << "from those of the round before";
  EXPECT_EQ(*simulated_records_[0].simulated_seconds, 1);
  EXPECT_FALSE(simulated_records_[0].buffer);
}

// A client that takes a hundred rounds: its turn is another one's, and it trains nothing.
TEST_F(BufferedSimulationTest, UpdatesThatWouldBeTooStaleAreDropped) {
  simulation_.buffer.max_staleness = 2;
  simulation_.buffer.size = 2;
  simulation_.client_seconds.spread = 3;
  simulation_.rounds = 30;
  ASSERT_EQ(Simulate(), absl::OkStatus()) << said();
  int64_t too_stale = 0, left_out = 0;
  for (const RoundRecord& record : simulated_records_) {
    too_stale += record.buffer->too_stale;
    for (const Asked& asked : record.clients) {
      if (asked.state == Asked::State::kAccepted) {
        EXPECT_LE(asked.staleness, 2);
        continue;
      }
      EXPECT_EQ(asked.why, "its update is too stale");
      ++left_out;
    }
  }
  EXPECT_GT(too_stale, 0);
  EXPECT_EQ(too_stale, left_out);
}

TEST_F(BufferedSimulationTest, StaleUpdatesWeighLess) {
  std::set<int64_t> rounds;  // one thread
  train_ = [&](int thread, int client, const RoundTask& task) {
    std::vector<float>& own = trained_[size_t(thread)];
    own = task.parameters;
    for (float& x : own) x += float(client + 1);
    rounds.insert(task.round);
    return absl::StatusOr<SimulatedUpdate>(
        SimulatedUpdate{.parameters = own, .report = {.samples = SamplesOf(client), .seconds = 1}});
  };
  double wanted = 1;
  simulation_.round_done = [&](const RoundRecord& record, const FederationState& state) {
    double sum = 0, weight = 0;
    for (const Asked& asked : record.clients) {
      const int client = asked.name.back() - '0';
      sum += double(SamplesOf(client)) / std::sqrt(1 + double(asked.staleness)) * (client + 1);
      weight += double(SamplesOf(client));
    }
    wanted += sum / weight;
    EXPECT_NEAR(state.parameters[0], wanted, 1e-4);
    return absl::OkStatus();
  };
  ASSERT_EQ(Simulate(1), absl::OkStatus()) << said();
  EXPECT_GT(wanted, 12);
  EXPECT_GE(rounds.size(), 10u) << "clients are asked in nearly all of them";
}

TEST_F(BufferedSimulationTest, ItContinuesFromTheState) {
  simulation_.rounds = 5;
  ASSERT_EQ(Simulate(), absl::OkStatus()) << said();
  simulation_.rounds = 12;
  ASSERT_EQ(Simulate(), absl::OkStatus()) << said();
  ASSERT_EQ(simulated_records_.size(), 12u);
  EXPECT_EQ(simulated_records_[5].round, 6);
  for (const Asked& asked : simulated_records_[5].clients) EXPECT_EQ(asked.staleness, 0);
}

TEST_F(BufferedSimulationTest, TooFewClientsAreAnError) {
  simulation_.buffer.size = 10;
  EXPECT_EQ(
      Simulate().message(),
      "a buffer of 10 updates, and 9 clients that can be asked: a client gives one update of the "
      "same parameters, so at least as many clients are needed as updates");
  simulation_.buffer.size = 9;
  train_ = [](int, int, const RoundTask&) {
    return absl::StatusOr<SimulatedUpdate>(SimulatedUpdate{.declined = "it has diverged"});
  };
  const absl::Status status = Simulate();
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_EQ(status.message(), "round 1: has 0 of 9 updates, and no other client can be asked");
  EXPECT_THAT(said(), HasSubstr("is left out: it has no update: it has diverged"));
  train_ = [](int, int, const RoundTask&) {
    return absl::StatusOr<SimulatedUpdate>(absl::InternalError("out of order"));
  };
  EXPECT_THAT(std::string(Simulate().message()), HasSubstr(": out of order"));
}

TEST_F(BufferedSimulationTest, MasksNeedRoundsThatWait) {
  simulation_.protection.protection = Protection::kMasked;
  simulation_.min_clients = 2;
  EXPECT_THAT(std::string(Simulate().message()),
              HasSubstr("a buffer of 3 updates: not with encryption"));
}

}  // namespace
}  // namespace dtnn::federation
