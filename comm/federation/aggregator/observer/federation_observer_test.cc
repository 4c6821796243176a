#include "comm/federation/aggregator/observer/federation_observer.h"

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "comm/federation/testing/federation_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn::federation {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// All in the order of the calls, which are of one thread.
struct Notes : FederationObserver {
  void OnClient(const std::string& name, int64_t samples) override {
    there[name] = samples;
    if (said) said_before += said().find(StrCat(name, " is there")) != std::string::npos;
  }
  void OnGone(const std::string& name) override { gone.push_back(name); }
  void OnRefusal() override { ++refusals; }
  void OnAttempt(int64_t round, std::span<const Asked> asked) override {
    events.push_back(StrCat("round ", round, " asks ", asked.size()));
  }
  void OnAsk(const std::string& name) override { events.push_back(StrCat("asks ", name)); }
  void OnAskEnd(const std::string& name) override { events.push_back(StrCat(name, " ends")); }
  void OnStepEnd(Step step, double seconds) override {
    EXPECT_GE(seconds, 0);
    EXPECT_LT(seconds, 60);
    events.push_back(StrCat("step ", int(step)));
  }
  void OnAttemptEnd(std::span<const Asked> asked, bool good) override {
    const auto accepted = std::ranges::count(asked, Asked::State::kAccepted, &Asked::state);
    events.push_back(StrCat(good ? "good" : "failed", " with ", accepted));
  }
  void OnTurn(uint64_t now_sent, uint64_t now_received) override {
    sent = now_sent;
    received = now_received;
  }

  std::map<std::string, int64_t> there;
  std::vector<std::string> gone, events;
  int refusals = 0;
  uint64_t sent = 0, received = 0;
  std::function<std::string()> said;
  int said_before = 0;
};

TEST_F(FederationTest, AnObserverHearsOfClientsAndRounds) {
  Notes notes;
  notes.said = [this] { return said(); };
  options_.observer = &notes;
  options_.rounds = 2;
  for (int client = 0; client < 3; ++client) Start(client);
  ASSERT_EQ(Run(), absl::OkStatus());
  JoinAll();
  EXPECT_EQ(notes.said_before, 0) << "a reader of that line finds the client on the pages";
  EXPECT_THAT(notes.there, UnorderedElementsAre(Pair("client-0", 100), Pair("client-1", 200),
                                                Pair("client-2", 300)));
  EXPECT_THAT(notes.events, ElementsAre("round 1 asks 3", "step 1", "good with 3", "round 2 asks 3",
                                        "step 1", "good with 3"));
  EXPECT_THAT(notes.gone, UnorderedElementsAre("client-0", "client-1", "client-2"));
  EXPECT_EQ(notes.refusals, 0);
}

TEST_F(FederationTest, AnObserverHearsOfTheStepsOfMaskedSums) {
  Notes notes;
  options_.observer = &notes;
  options_.rounds = 1;
  options_.protection.protection = Protection::kMasked;
  for (int client = 0; client < 3; ++client) Start(client);
  ASSERT_EQ(Run(), absl::OkStatus());
  JoinAll();
  EXPECT_THAT(notes.events,
              ElementsAre("round 1 asks 3", "step 0", "step 1", "step 2", "good with 3"));
}

TEST_F(FederationTest, AnObserverHearsOfRoundsThatDoNotWait) {
  Notes notes;
  options_.observer = &notes;
  options_.rounds = 3;
  options_.min_clients = 3;
  options_.buffer.size = 3;
  for (int client = 0; client < 3; ++client) Start(client);
  ASSERT_EQ(Run(), absl::OkStatus());
  JoinAll();
  // In each round all are asked, and then each ends, before the round does.
  for (std::string& event : notes.events) {
    for (const char* name : {"client-0", "client-1", "client-2"}) {
      if (const size_t at = event.find(name); at != event.npos) event.replace(at, 8, "one");
    }
  }
  const std::vector<std::string> round = {"asks one", "asks one", "asks one", "one ends",
                                          "one ends", "one ends", "step 1",   "good with 3"};
  ASSERT_EQ(notes.events.size(), 3 * round.size());
  for (size_t i = 0; i < notes.events.size(); ++i) {
    EXPECT_EQ(notes.events[i], round[i % round.size()]) << i;
  }
}

// One that is asked again when the last round is over does not train any more.
TEST_F(FederationTest, AnObserverHearsThatTurnsEndWithTheRounds) {
  Notes notes;
  options_.observer = &notes;
  options_.rounds = 3;
  options_.min_clients = 2;
  options_.buffer.size = 1;
  for (int client = 0; client < 2; ++client) Start(client);
  ASSERT_EQ(Run(), absl::OkStatus());
  JoinAll();
  std::map<std::string, int> trains;
  for (const std::string& event : notes.events) {
    for (const std::string name : {"client-0", "client-1"}) {
      trains[name] += int(event == "asks " + name) - int(event == name + " ends");
      EXPECT_TRUE(trains[name] == 0 || trains[name] == 1) << event;
    }
  }
  EXPECT_THAT(trains, UnorderedElementsAre(Pair("client-0", 0), Pair("client-1", 0)));
}

// A refused caller that has taken the name of a client does not make that one gone.
TEST_F(FederationTest, ARefusalIsNobodysEnd) {
  Notes notes;
  options_.observer = &notes;
  options_.rounds = 1;
  Start(1);
  Start(2);
  threads_.emplace_back([this] {
    AwaitSaid("client client-1 is there");
    RawClient liar(place_);
    Hello hello = GoodHello("client-1");
    ++hello.model.values;
    liar.SendHello(hello);
    EXPECT_TRUE(liar.Await(FrameKind::kRefusal));
  });
  Start(0, nullptr, "refused: client client-1");
  ASSERT_EQ(Run(), absl::OkStatus());
  JoinAll();
  EXPECT_EQ(notes.refusals, 1);
  EXPECT_THAT(notes.gone, UnorderedElementsAre("client-0", "client-1", "client-2"));
}

}  // namespace
}  // namespace dtnn::federation
