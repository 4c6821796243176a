// Rounds that do not wait: clients that die, are late, lie, crowd, or may no longer take part, and
// an aggregator that is busy.

#include <atomic>
#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "comm/federation/testing/buffered_fixture.h"
#include "comm/federation/testing/identity_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn::federation {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

// A turn that dies with its client is another one's.
TEST_F(BufferedTest, AClientThatDiesIsMissedByNobody) {
  options_.rounds = 4;
  options_.min_clients = 2;
  threads_.emplace_back([&] {
    auto self = Must(FederationClient::Create(OptionsOf(3), Job()));
    Must(self->Next());
    self.reset();
    Note("client-3 is dead");
  });
  for (const int client : {0, 1, 2}) Start(client, When({0, 1, 2}, Move()), "client-3 is dead");
  Start(4, When({0, 1, 2}, Move()));
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
  JoinAll();
  EXPECT_EQ(records_.size(), 4u);
  EXPECT_THAT(said(), HasSubstr("client client-3 is left out: it is gone"));
}

// The same, and its connection stays.
TEST_F(BufferedTest, AClientWithoutAnUpdateAtTheDeadlineIsLeftOut) {
  options_.rounds = 6;
  options_.deadline = milliseconds(300);
  options_.min_clients = 2;
  const std::string late = "client-2 is left out: it had no update at the deadline";
  Start(2, [&](const RoundTask& task, int client) {
    AwaitSaid(late);
    return Moved(task.parameters, client);
  });
  // On a busy machine these may be late as well.
  const Train train = When({0, 1, 3}, [&](const RoundTask& task, int self) {
    if (task.round >= 3) AwaitSaid(late);
    return Moved(task.parameters, self);
  });
  for (const int client : {0, 1, 3}) Start(client, train, "client-2 is there");
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
  JoinAll();
  EXPECT_THAT(said(), HasSubstr(late));
  EXPECT_EQ(final_.size(), 4u);
}

// In the first round NaN, in the second too much; each is asked once in a round.
TEST_F(BufferedTest, BadUpdatesAreRefused) {
  options_.rounds = 2;
  options_.max_update_norm = 1e5;
  const std::string nan = "client-2 is left out: ", norm = nan + "its update has the norm";
  std::atomic<int> asked = 0;
  Start(2, [&](const RoundTask& task, int client) {
    ++asked;
    std::vector<float> update = Moved(task.parameters, client);
    update[7] = task.round == 1 ? NAN : 1e6f;
    return update;
  });
  const Train train = When({0, 1, 3}, [&](const RoundTask& task, int self) {
    AwaitSaid(task.round == 1 ? nan : norm);
    return Moved(task.parameters, self);
  });
  for (const int client : {0, 1, 3}) Start(client, train);
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
  JoinAll();
  EXPECT_EQ(asked, 2);
  EXPECT_THAT(said(), HasSubstr("holds a number that is NaN"));
}

// The aggregator is busy after each round until all that it has asked have trained: what they send
// meanwhile is taken in the order in which it comes, not in that of connections.
TEST_F(BufferedTest, NoClientIsForgottenWhereAllAreFasterThanTheAggregator) {
  options_.rounds = 8;
  options_.min_clients = 8;
  std::atomic<uint64_t> trained = 0;
  std::map<std::string, int> used;
  const auto check = options_.round_done;
  options_.round_done = [&](const RoundRecord& record, const FederationState& state) {
    // Parameters that the system's buffers do not hold are sent by this thread, too.
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    while (trained < state.attempts && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    for (const Asked& asked : record.clients) ++used[asked.name];
    return check(record, state);
  };
  for (int client = 0; client < 8; ++client) {
    Start(client, [&](const RoundTask& task, int self) {
      ++trained;
      return Moved(task.parameters, self);
    });
  }
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
  JoinAll();
  EXPECT_EQ(used.size(), 8u) << "of 16 updates";
  // Some of them may still be on their way when the aggregator reads those of others again.
  for (const auto& [name, times] : used) EXPECT_LE(times, 5) << name;
}

// The aggregator is busy for longer than the deadline, in which an update is sent.
TEST_F(BufferedTest, TheTimeAfterARoundIsNotTheClients) {
  options_.rounds = 2;
  options_.min_clients = 3;
  options_.deadline = milliseconds(1000);
  NoteVerdicts(2);
  std::atomic<bool> begins = false, trained = false;
  const auto check = options_.round_done;
  options_.round_done = [&](const RoundRecord& record, const FederationState& state) {
    Note("busy");
    const auto until = std::chrono::steady_clock::now() + milliseconds(1500);
    while (record.round == 1 && (!trained || std::chrono::steady_clock::now() < until)) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    return check(record, state);
  };
  Start(2, [&](const RoundTask& task, int client) {
    begins = true;
    AwaitSaid("busy");
    trained = true;
    return Moved(task.parameters, client);
  });
  for (const int client : {0, 1}) {
    Start(client, [&](const RoundTask& task, int self) {
      // A busy aggregator sends client 2 no parameters.
      while (!begins) std::this_thread::sleep_for(milliseconds(1));
      while (task.round == 2 && said().find("client-2 is") == std::string::npos) {
        std::this_thread::sleep_for(milliseconds(1));
      }
      return Moved(task.parameters, self);
    });
  }
  // Its arrival is said, too.
  options_.say = [&](std::string_view line) {
    if (line.find("client-2 is there") == line.npos) Note(line);
  };
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
  JoinAll();
  EXPECT_EQ(MostStalenessOf("client-2"), 1) << said();
}

// With two places for updates on their way, and a buffer that is full while clients report.
TEST_F(BufferedTest, ManyClientsShareTwoPlaces) {
  options_.receive_bytes = 1;
  options_.buffer.size = 3;
  options_.min_clients = 8;
  options_.rounds = 10;
  for (int client = 0; client < 8; ++client) Start(client, Move());
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
  JoinAll();
  EXPECT_EQ(records_.size(), 10u);
  EXPECT_EQ(final_.size(), 8u);
}

TEST_F(BufferedTest, TooFewClientsEndItInTime) {
  options_.timeout = std::chrono::seconds(1);
  options_.rounds = 1;
  tune_ = [](int, ClientOptions& options) { options.timeout = std::chrono::seconds(2); };
  threads_.emplace_back([&] {
    const auto self = Must(FederationClient::Create(OptionsOf(0), Job()));
    EXPECT_FALSE(self->Next().ok());
  });
  const absl::Status status = Run();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("round 1"), HasSubstr("update 1 of 2, and 2 clients that can be "
                                                    "asked; 1 is there")));
  if (!place_.datagrams) return;
  JoinAll();
}

// What is in a sum cannot be taken out of it.
class BufferedIdentityTest : public NotingTest<IdentityTest> {};

TEST_F(BufferedIdentityTest, NoSumHasTheUpdateOfOneThatIsTakenOffTheList) {
  options_.rounds = 1;
  options_.min_clients = options_.buffer.size = 2;
  std::atomic<bool> is_gone = false;
  options_.warn = [&](std::string_view line) {
    Note(line);
    if (line.find("client-2 must not be used") != line.npos) is_gone = true;
  };
  threads_.emplace_back([&] {
    ClientOptions own = OptionsOf(2);
    own.verdict = NoteUsed(2);
    const auto self = Must(FederationClient::Create(own, Job()));
    const RoundTask task = Must(self->Next());
    ASSERT_EQ(self->Submit(Moved(task.parameters, 2), {.samples = SamplesOf(2)}), absl::OkStatus());
    EXPECT_FALSE(self->Next().ok());
  });
  // One trains until that update is in the buffer, and gone.
  Start(0, [&](const RoundTask& task, int client) {
    AwaitSaid("client-2 is used");
    WriteList({0, 1});
    while (!is_gone) std::this_thread::sleep_for(milliseconds(1));
    return Moved(task.parameters, client);
  });
  Start(
      1, [&](const RoundTask& task, int client) { return Moved(task.parameters, client); },
      "must not be used");
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
  JoinAll();
  EXPECT_NEAR(state_.parameters[0], 1 + (100 * 1 + 200 * 2) / 300.0, 1e-6) << "clients 0 and 1";
}

}  // namespace
}  // namespace dtnn::federation
