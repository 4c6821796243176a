// More clients than there are places: for connections, and for updates on their way.

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "comm/federation/client/call.h"
#include "comm/federation/testing/federation_fixture.h"
#include "comm/federation/testing/swarm.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn::federation {
namespace {

using ::testing::HasSubstr;

class CrowdTest : public FederationTest {
 protected:
  // Runs the aggregator beside `clients`, a swarm of so many.
  void RunSwarm(int clients) {
    const JobSecret job = Job();
    ClientOptions client = PlainOptionsOf(0);
    client.model = options_.model;
    Swarm swarm(client, job);
    threads_.emplace_back([&] {
      ASSERT_EQ(swarm.Add(clients), absl::OkStatus());
      ASSERT_EQ(swarm.Run(), absl::OkStatus());
    });
    ASSERT_EQ(Run(), absl::OkStatus()) << said();
    JoinAll();
    EXPECT_EQ(swarm.accepted(), options_.rounds * clients);
    wanted_ = swarm.numbers();
  }

  // One round, with masks, of numbers that are rounded by less than `tolerance`.
  void RunMasked(int clients, double tolerance) {
    options_.protection.protection = Protection::kMasked;
    options_.model.values = options_.model.trainable = 50;
    options_.min_clients = clients;
    options_.rounds = 1;
    state_.parameters.assign(50, 1);
    RunSwarm(clients);
    ASSERT_EQ(records_.size(), 1u);
    EXPECT_EQ(records_[0].attempts, 1u);
    for (size_t i = 0; i < 50; ++i) EXPECT_NEAR(state_.parameters[i], wanted_[i], tolerance) << i;
  }

  // A client that was asked: the number of that attempt.
  uint64_t Join(RawClient& raw, const std::string& name) {
    raw.SendHello(GoodHello(name));
    const std::optional<Frame> round = raw.Await(FrameKind::kRound);
    return round ? round->header.attempt : 0;
  }

  std::vector<float> wanted_;
};

TEST_F(CrowdTest, HundredsInARound) {
  options_.min_clients = 300;
  options_.rounds = 2;
  RunSwarm(300);
  EXPECT_EQ(state_.parameters, wanted_) << "to the last bit";
  EXPECT_EQ(records_.back().clients.size(), 300u);
}

TEST_F(CrowdTest, TwoPlacesForUpdatesAreEnough) {
  options_.min_clients = 50;
  options_.rounds = 2;
  options_.receive_bytes = 1;
  RunSwarm(50);
  EXPECT_EQ(state_.parameters, wanted_);
}

TEST_F(CrowdTest, MasksOfMoreThanSixtyFour) { RunMasked(70, 0x1p-18); }

// With 28 each.
TEST_F(CrowdTest, MasksOfNeighbours) {
  options_.protection.mask_neighbours = 1;
  RunMasked(40, 0x1p-18);
}

// The caller gets the reason, and may call again.
TEST_F(CrowdTest, MoreConnectionsThanThereMayBe) {
  options_.min_clients = options_.max_connections = 3;
  options_.rounds = 1;
  const Train train = [&](const RoundTask& task, int client) {
    AwaitSaid("refused, as it should be");
    return Trained(task.parameters, client);
  };
  for (const int client : {0, 1, 2}) Start(client, train);
  threads_.emplace_back([&] {
    AwaitSaid("client-0 is there");
    AwaitSaid("client-1 is there");
    AwaitSaid("client-2 is there");
    RawClient raw(place_);
    const std::optional<Frame> refusal = raw.Await(FrameKind::kRefusal);
    ASSERT_TRUE(refusal);
    EXPECT_EQ(refusal->header.index, kBusy);
    EXPECT_EQ(
        TextFromBytes(refusal->body),
        "there are 3 connections already, the most that the aggregator takes: its options say "
        "how many, and the system's limit of open files (ulimit -n)");
    EXPECT_TRUE(absl::IsAborted(RefusalOf(*refusal))) << "a client calls again";
    Note("refused, as it should be");
  });
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
  EXPECT_EQ(records_.back().clients.size(), 3u);
  EXPECT_THAT(said(), HasSubstr(": there are 3 connections already"));
}

// However long that takes: the sum is not made before the newcomer has been heard.
TEST_F(CrowdTest, ConnectionsAreServedWhileASumIsMade) {
  options_.rounds = 1;
  options_.timeout = std::chrono::seconds(20);
  options_.protection.protection = Protection::kMasked;
  options_.sum_begins = [this](const std::stop_token&) {
    Note("a sum begins");
    AwaitSaid("the newcomer has heard");
  };
  for (const int client : {0, 1, 2}) Start(client);
  threads_.emplace_back([&] {
    AwaitSaid("a sum begins");
    RawClient raw(place_);
    raw.SendHello(GoodHello("newcomer", options_.protection));
    AwaitSaid("newcomer is there");
    EXPECT_TRUE(raw.Await(FrameKind::kAlive));
    Note("the newcomer has heard");
  });
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
  EXPECT_EQ(records_.back().attempts, 1u);
}

// The state is that after the round before.
TEST_F(CrowdTest, AnInterruptDoesNotWaitForASum) {
  options_.rounds = 3;
  options_.protection.protection = Protection::kMasked;
  std::atomic<int> sums = 0;
  options_.sum_begins = [&](const std::stop_token& stop) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    if (++sums == 2) std::condition_variable_any().wait(lock, stop, [] { return false; });
  };
  options_.interrupted = [&] { return sums == 2; };
  for (const int client : {0, 1, 2}) Start(client);
  EXPECT_TRUE(absl::IsCancelled(Run())) << said();
  EXPECT_EQ(state_.rounds_done, 1);
  EXPECT_EQ(records_.size(), 1u);
  EXPECT_LT(Distance(state_.parameters, Wanted({0, 1, 2}, 1)), 2e-5);
  options_.interrupted = nullptr;
  options_.place.listener = Must(Listen(place_.address)).Release();
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
  JoinAll();
  EXPECT_EQ(state_.rounds_done, 3);
}

// Two have begun, so it waits for its turn.
TEST_F(CrowdTest, AClientThatIsLostWhileItWaitsIsMissed) {
  options_.rounds = 1;
  options_.receive_bytes = 1;
  for (const std::string name : {"half-1", "half-2", "lost"}) {
    threads_.emplace_back([this, name] {
      if (name == "lost") {  // the last to be heard of those that send at the same time
        AwaitSaid("half-1 is there");
        AwaitSaid("half-2 is there");
      }
      RawClient raw(place_);
      const uint64_t attempt = Join(raw, name);
      if (name == "lost") {
        AwaitSaid("half-1 has begun");
        AwaitSaid("half-2 has begun");
      }
      raw.Send(FrameKind::kUpdate, attempt, 0, Bytes(100));
      Note(name + " has begun");
      if (name == "lost") raw.Reset();
      AwaitSaid("client lost has left");
    });
  }
  Start(0, nullptr, "client lost has left");
  Start(1, nullptr, "client lost has left");
  Start(2, nullptr, "client lost has left");
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
  EXPECT_EQ(records_.back().attempts, 2u);
}

}  // namespace
}  // namespace dtnn::federation
