// Rounds that do not wait: stragglers, staleness, and what a buffer makes of updates.

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "comm/federation/testing/buffered_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn::federation {
namespace {

using ::testing::HasSubstr;

// Others wait from some round on, but may fill a round more with what they had begun.
TEST_F(BufferedTest, AStragglerHoldsNoRoundUp) {
  options_.rounds = 9;
  options_.min_clients = 3;
  NoteVerdicts(2);
  Start(2, [&](const RoundTask& task, int client) {
    if (task.round == 1) AwaitRound(4);
    return Moved(task.parameters, client);
  });
  for (const int client : {0, 1}) {
    Start(client, [&](const RoundTask& task, int self) {
      if (task.round >= 6) AwaitSaid("client-2 is used");
      return Moved(task.parameters, self);
    });
  }
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
  JoinAll();
  ASSERT_EQ(records_.size(), 9u);
  EXPECT_GE(MostStalenessOf("client-2"), 4) << said();
  for (const auto& [client, parameters] : final_) {
    EXPECT_EQ(parameters, state_.parameters) << client;
  }
  EXPECT_EQ(final_.size(), 3u);
}

TEST_F(BufferedTest, AnUpdateThatIsTooStaleIsDroppedAndItsClientLearnsWhy) {
  options_.rounds = 8;
  options_.buffer.max_staleness = 1;
  options_.min_clients = 3;
  const std::string stale =
      "client-2 is left out: its update is too stale: it trains from the parameters of 2 rounds "
      "ago, and 1 are allowed";
  threads_.emplace_back([&] {
    const auto self = Must(FederationClient::Create(OptionsOf(2), Job()));
    const RoundTask task = Must(self->Next());
    EXPECT_EQ(task.round, 1);
    AwaitSaid(stale);
    AwaitRound(4);  // the verdict is there meanwhile
    const uint64_t before = self->bytes_sent();
    ASSERT_EQ(self->Submit(Moved(task.parameters, 2), {.samples = SamplesOf(2)}), absl::OkStatus());
    if (!place_.datagrams) {  // which takes another thread
      EXPECT_EQ(self->accepted(), false);
      EXPECT_LT(self->bytes_sent(), before + 1000) << "the update itself was not sent";
    }
    Note("client-2 knows");
    absl::StatusOr<RoundTask> next = self->Next();
    while (next.ok() && !next->over) {
      ASSERT_EQ(self->Submit(Moved(next->parameters, 2), {.samples = SamplesOf(2)}),
                absl::OkStatus());
      next = self->Next();
    }
  });
  for (const int client : {0, 1}) {
    Start(client, [&](const RoundTask& task, int self) {
      if (task.round >= 6) AwaitSaid("client-2 knows");
      return Moved(task.parameters, self);
    });
  }
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
  JoinAll();
  EXPECT_THAT(said(), HasSubstr(stale));
  EXPECT_THAT(said(), HasSubstr("client 2: round 1: the aggregator does not use this client's "
                                "update: its update is too stale"));
  int64_t too_stale = 0;
  for (const RoundRecord& record : records_) too_stale += record.buffer->too_stale;
  EXPECT_GE(too_stale, 1);
}

// Clients ask the next aggregator for the next round; what they had begun is lost.
TEST_F(BufferedTest, AnotherAggregatorGoesOnFromTheState) {
  options_.rounds = 5;
  options_.min_clients = 3;
  options_.strategy.strategy = Strategy::kFedavgm;  // has a state of its own
  int rounds = 0;
  options_.interrupted = [&] { return rounds == 2; };
  options_.round_done = [&](const RoundRecord& record, const FederationState& state) {
    ++rounds;
    records_.push_back(record);
    EXPECT_EQ(state.moments.updates, record.round);
    return absl::OkStatus();
  };
  for (int client = 0; client < 3; ++client) Start(client, Move());
  EXPECT_TRUE(absl::IsCancelled(Run())) << said();
  EXPECT_EQ(state_.rounds_done, 2);
  const uint64_t attempts = state_.attempts;
  ListenAgain();
  options_.interrupted = nullptr;
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
  JoinAll();
  EXPECT_GT(state_.attempts, attempts);
  ASSERT_EQ(records_.size(), 5u);
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(records_[i].round, int64_t(i) + 1);
  EXPECT_EQ(final_.size(), 3u);
  for (const auto& [client, parameters] : final_) EXPECT_EQ(parameters, state_.parameters);
}

// All clients are asked at once, and again when all have answered: that is a round that waits. Sums
// of differences are rounded otherwise than those of parameters, but for numbers that both hold.
TEST_F(BufferedTest, WithoutStalenessItIsTheRoundThatWaits) {
  for (const bool exact : {true, false}) {
    const auto train = [&](const RoundTask& task, int client) {
      return exact ? Moved(task.parameters, client) : Trained(task.parameters, client);
    };
    std::vector<float> ends[2];
    for (const bool buffered : {true, false}) {
      options_.strategy.strategy = exact ? Strategy::kAvg : Strategy::kFedadam;
      options_.min_clients = 4;
      options_.rounds = 3;
      options_.buffer.size = buffered ? 4 : 0;
      options_.round_done = [&](const RoundRecord& record, const FederationState&) {
        if (buffered) {
          EXPECT_EQ(record.buffer->staleness, 0);
        }
        return absl::OkStatus();
      };
      state_ = {};
      state_.parameters.assign(kValues, 1);
      if (std::exchange(listener_, -1) < 0) ListenAgain();
      for (int client = 0; client < 4; ++client) Start(client, train);
      ASSERT_EQ(Run(), absl::OkStatus()) << said();
      JoinAll();
      ends[buffered ? 0 : 1] = state_.parameters;
    }
    if (exact) {
      EXPECT_EQ(ends[0], ends[1]);
    } else {
      const std::vector<double> wanted(ends[1].begin(), ends[1].end());
      EXPECT_LT(Distance(ends[0], wanted), 2e-4) << "fedadam divides by what is rounded";
    }
  }
}

// Differences have the bits of rounds that wait before they are added.
TEST_F(BufferedTest, CompressedDifferencesAreThoseOfRoundsThatWait) {
  for (const CompressionKind kind : {CompressionKind::kInt8, CompressionKind::kBfloat16}) {
    options_.compression.kind = kind;
    options_.round_done = nullptr;
    options_.strategy.strategy = Strategy::kAvg;
    options_.min_clients = 3;
    options_.rounds = 1;
    std::vector<float> ends[2];
    for (const bool buffered : {true, false}) {
      options_.buffer.size = buffered ? 3 : 0;
      state_ = {};
      state_.parameters.assign(kValues, 1);
      if (std::exchange(listener_, -1) < 0) ListenAgain();
      for (int client = 0; client < 3; ++client) {
        Start(client, [](const RoundTask& task, int id) { return Trained(task.parameters, id); });
      }
      ASSERT_EQ(Run(), absl::OkStatus()) << said();
      JoinAll();
      ends[buffered ? 0 : 1] = state_.parameters;
    }
    EXPECT_LT(Distance(ends[0], {ends[1].begin(), ends[1].end()}), 1e-6);
    EXPECT_GT(Distance(ends[0], Wanted({0, 1, 2}, 1)), 1e-4);
  }
}

TEST_F(BufferedTest, FednovaAndConstantWeightsAreThoseOfTheStrategy) {
  options_.strategy.strategy = Strategy::kFednova;
  options_.buffer.weight = StalenessWeight::kConstant;
  options_.rounds = 6;
  options_.min_clients = 3;
  for (int client = 0; client < 3; ++client) Start(client, Move());
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
  JoinAll();
  EXPECT_EQ(records_.size(), 6u);
}

// From the same parameters, and with the same order of its data, it would make the same update.
TEST_F(BufferedTest, AClientIsAskedOnceForTheSameParameters) {
  options_.rounds = 8;
  options_.buffer.size = 3;
  options_.min_clients = 3;
  std::set<std::pair<int, int64_t>> asked;
  const auto train = [&](const RoundTask& task, int client) {
    const std::lock_guard lock(mutex_);
    EXPECT_TRUE(asked.emplace(client, task.round).second) << client << " in " << task.round;
    return Moved(task.parameters, client);
  };
  for (int client = 0; client < 3; ++client) Start(client, train);
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
  JoinAll();
}

TEST_F(BufferedTest, AMedianKeepsALiarOut) {
  options_.robust.kind = RobustKind::kMedian;
  options_.buffer.size = options_.min_clients = 3;
  options_.rounds = 4;
  options_.round_done = nullptr;
  for (const int client : {0, 1}) Start(client, Move());
  Start(2, [](const RoundTask& task, int) {
    return std::vector<float>(task.parameters.size(), 1e9f);
  });
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
  JoinAll();
  EXPECT_EQ(state_.parameters[0], 1 + 4 * 2) << "client 1 is the median of 1, 2 and a lie";
  EXPECT_EQ(state_.parameters[kValues - 1], 2);
}

TEST_F(BufferedTest, ABufferThatMakesNoSenseIsRefused) {
  EXPECT_EQ(WhyRefused([](AggregatorOptions& o) { o.buffer.size = 3; }),
            "a buffer of 3 updates, and rounds of at least 2 clients: a client gives one update of "
            "the same parameters, so at least as many clients are needed as updates");
  EXPECT_THAT(WhyRefused([](AggregatorOptions& o) { o.strategy.strategy = Strategy::kInvwavg; }),
              HasSubstr("not with strategy invwavg"));
  EXPECT_THAT(
      WhyRefused([](AggregatorOptions& o) { o.protection.protection = Protection::kMasked; }),
      HasSubstr("not with encryption"));
  if (!place_.datagrams) {  // else no round asks as many
    EXPECT_EQ(WhyRefused([](AggregatorOptions& o) {
                o.min_clients = o.buffer.size = 65;
                o.robust.kind = RobustKind::kMedian;
              }),
              "a buffer of 65 updates: expected 64 at most, with a robust mean, which needs all of "
              "them at once");
  }
  EXPECT_THAT(WhyRefused([](AggregatorOptions& o) {
                o.robust = {.kind = RobustKind::kKrum, .number = 0.2};
              }),
              HasSubstr("krum:0.2 of 2 to 2 updates: expected at least 3"));
}

}  // namespace
}  // namespace dtnn::federation
