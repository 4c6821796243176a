// Aggregators that are clients of another one, with clients of their own: what goes up is their
// clients' mean, with the weight of those that are in it.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "comm/federation/testing/federation_fixture.h"
#include "comm/secrets/sums/authenticated.h"
#include "comm/secrets/sums/plain_codec.h"
#include "comm/transport/tcp/socket.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"
#include "tensor/text/str_cat.h"

namespace dtnn::federation {
namespace {

using ::testing::HasSubstr;

JobSecret GroupJob() { return Must(JobSecret::Of(std::string(40, 'g'))); }

// An aggregator with a parent.
struct Group {
  AggregatorOptions options;
  FederationState state;
  absl::Status status;
  std::atomic<bool> ended = false;  // the status says how
  std::vector<RoundRecord> records;
};

class ParentTest : public FederationTest {
 protected:
  ParentTest() {
    options_.min_clients = 2;
    options_.rounds = 2;
  }

  ParentOptions ParentAs(const std::string& name) const {
    ClientOptions client;
    client.place = place_;
    client.name = name;
    return {.client = client, .secret = Job()};
  }

  // Where a group is the parent.
  static ParentOptions ParentIn(const Group& group, const std::string& name) {
    ClientOptions client;
    client.place = {.address = group.options.place.address};
    client.name = name;
    return {.client = client, .secret = GroupJob()};
  }

  // A client of an aggregator that will not have a round.
  void StartInVain(const MeetingPlace& place, const JobSecret& secret, int client) {
    threads_.emplace_back([this, place, secret, client] {
      ClientOptions options = PlainOptionsOf(client);
      options.place = place;
      options.place.listener = -1;
      options.timeout = std::chrono::seconds(8);
      EXPECT_FALSE(Must(FederationClient::Create(options, secret))->Next().ok());
    });
  }

  // The group of that name, with these clients, once `after` was said.
  Group& StartGroup(const std::string& name, const std::vector<int>& clients,
                    const std::function<void(AggregatorOptions&)>& change = nullptr,
                    const std::string& after = "") {
    groups_.push_back(std::make_unique<Group>());
    Group& group = *groups_.back();
    Socket listener = Must(Listen({.host = "127.0.0.1", .port = 0}));
    MeetingPlace place = {.address = Must(listener.Local())};
    group.options = options_;
    group.options.place = place;
    group.options.strategy = {};
    group.options.parent = ParentAs(name);
    group.options.rounds = 1;  // it does those of its parent
    group.options.min_clients = int(clients.size());
    group.state.parameters.assign(kValues, 0);
    group.options.round_done = [&group](const RoundRecord& record, const FederationState&) {
      group.records.push_back(record);
      return absl::OkStatus();
    };
    if (change) change(group.options);
    group.options.place = place;
    group.options.place.listener = listener.Release();
    threads_.emplace_back([this, &group, after] {
      AwaitSaid(after);
      group.status = RunAggregator(group.options, GroupJob(), group.state);
      group.ended = true;
    });
    for (const int client : clients) StartClient(group, client);
    return group;
  }

  // One that trains as `train_` says; without numbers it has no update.
  void StartClient(const Group& group, int client, const std::string& after = "") {
    MeetingPlace place = group.options.place;
    place.listener = -1;
    threads_.emplace_back([this, place, protection = group.options.protection, client, after] {
      AwaitSaid(after);
      ClientOptions options = PlainOptionsOf(client);
      options.place = place;
      options.protection = protection;
      options.class_names = names_;
      const auto self = Must(FederationClient::Create(options, GroupJob()));
      while (true) {
        const absl::StatusOr<RoundTask> task = self->Next();
        ASSERT_EQ(task.status(), absl::OkStatus());
        if (task->over) {
          const std::lock_guard lock(mutex_);
          final_[client] = task->parameters;
          return;
        }
        const std::vector<float> trained = train_(*task, client);
        if (trained.empty()) {
          ASSERT_EQ(self->Decline("it is tired"), absl::OkStatus());
          continue;
        }
        ASSERT_EQ(self->Submit(trained, {.samples = SamplesOf(client),
                                         .seconds = 0.25,
                                         .metrics = {{"loss", double(client)}}}),
                  absl::OkStatus());
      }
    });
  }

  // For another federation in the same test.
  void NewPlace() {
    if (PlaceUnderTest()) {
      place_ = options_.place = PlaceUnderTest()();
    } else {
      Socket listener = Must(Listen({.host = "127.0.0.1", .port = 0}));
      place_.address = options_.place.address = Must(listener.Local());
      options_.place.listener = listener.Release();
    }
    state_ = {};
    state_.parameters.assign(kValues, 1);
  }

  void Finish() {
    ASSERT_EQ(Run(), absl::OkStatus()) << said();
    JoinAll();
    for (const auto& group : groups_) {
      EXPECT_EQ(group->status, absl::OkStatus()) << said();
      EXPECT_EQ(group->state.parameters, state_.parameters) << "the final ones reach it";
    }
    for (const auto& [client, parameters] : final_) {
      EXPECT_EQ(parameters, state_.parameters) << client;
    }
  }

  // The mean of what these clients make of `w`, by these weights.
  static std::vector<double> MeanOf(const std::vector<double>& w, const std::vector<int>& clients,
                                    const std::function<double(int)>& weight) {
    const std::vector<float> now(w.begin(), w.end());
    std::vector<double> mean(w.size());
    double sum = 0;
    for (const int client : clients) sum += weight(client);
    for (const int client : clients) {
      const std::vector<float> trained = Trained(now, client);
      for (size_t i = 0; i < mean.size(); ++i) mean[i] += weight(client) / sum * trained[i];
    }
    return mean;
  }

  std::vector<std::unique_ptr<Group>> groups_;
  std::vector<std::string> names_;  // of the classes of all clients
  std::function<std::vector<float>(const RoundTask&, int)> train_ =
      [](const RoundTask& task, int client) { return Trained(task.parameters, client); };
};

TEST_F(ParentTest, GroupsMakeTheMeanOfAllClients) {
  for (const Protection protection :
       {Protection::kNone, Protection::kMasked, Protection::kThreshold}) {
    const auto protect = [&](AggregatorOptions& options) {
      options.protection.protection = protection;
    };
    StartGroup("north", {0, 1}, protect);
    StartGroup("south", {2, 3}, protect);
    Finish();
    // Numbers up to 3, rounded to float32 in each group and times its factor; or as sums of
    // integers and ciphertexts are.
    const double tolerance = protection == Protection::kNone     ? 2e-6
                             : protection == Protection::kMasked ? 2e-5
                                                                 : 1e-4;
    EXPECT_LT(Distance(state_.parameters, Wanted({0, 1, 2, 3}, 2)), tolerance);
    const RoundRecord& last = records_.back();
    EXPECT_EQ(last.samples, 1000);
    EXPECT_EQ(groups_.back()->records.back().attempts, 1u) << said();
    ASSERT_EQ(last.metrics.size(), 1u);  // (0 * 100 + 1 * 200 + 2 * 300 + 3 * 400) / 1000
    EXPECT_NEAR(last.metrics[0].second, 2, tolerance);
    ASSERT_EQ(last.clients.size(), 2u);
    EXPECT_EQ(last.clients[1].report.clients, 2);
    EXPECT_EQ(groups_.back()->records.back().round, 2) << "the parent's number of the round";
    EXPECT_EQ(groups_.back()->records.back().samples, 700);
    if (protection == Protection::kThreshold) return;
    // Again, with another protection.
    groups_.clear();
    final_.clear();
    said_.clear();
    NewPlace();
  }
}

// Each level has its own.
TEST_F(ParentTest, UpdatesOfBothLevelsCanBeCompressed) {
  options_.compression.kind = CompressionKind::kBfloat16;
  StartGroup("north", {0, 1},
             [](AggregatorOptions& options) { options.compression.kind = CompressionKind::kInt8; });
  StartGroup("south", {2, 3}, [](AggregatorOptions& options) { options.compression = {}; });
  Finish();
  const double distance = Distance(state_.parameters, Wanted({0, 1, 2, 3}, 2));
  EXPECT_LT(distance, 0.02);
  EXPECT_GT(distance, 1e-4);
  EXPECT_NEAR(double(records_.back().bytes_received),
              2 * (2.0 * double(kTrainable) + 4.0 * double(kValues - kTrainable)), 2000);
  const auto [north, south] = std::pair(groups_[0].get(), groups_[1].get());
  EXPECT_LT(3 * north->records.back().bytes_received, south->records.back().bytes_received);
}

// A town in a country in the world, each with clients of its own.
TEST_F(ParentTest, ThreeLevelsMakeTheMeanOfAllClients) {
  for (const Strategy strategy : {Strategy::kWavg, Strategy::kAvg}) {
    if (strategy == Strategy::kAvg) {  // again
      groups_.clear();
      final_.clear();
      records_.clear();
      NewPlace();
    }
    options_.strategy.strategy = strategy;
    Group& country = StartGroup("country", {0}, [](auto& options) { options.min_clients = 2; });
    StartGroup("town", {1, 2}, [&](auto& options) { options.parent = ParentIn(country, "town"); });
    Start(3);
    Finish();
    std::vector<double> w(kValues, 1);
    for (int round = 0; round < 2; ++round) {
      w = MeanOf(w, {0, 1, 2, 3}, [&](int client) {
        return strategy == Strategy::kAvg ? 1 : double(SamplesOf(client));
      });
    }
    EXPECT_LT(Distance(state_.parameters, w), 4e-6) << Name(strategy);
    EXPECT_EQ(records_.back().samples, 1000);
    for (const Asked& client : records_.back().clients) {
      EXPECT_EQ(client.report.clients, client.name == "country" ? 3 : 0) << client.name;
    }
  }
}

// Neither could have a round: each would wait for the other's.
TEST_F(ParentTest, ARingOfTwoAggregatorsIsFound) {
  options_.timeout = std::chrono::seconds(8);
  options_.min_clients = 1;
  options_.strategy = {};
  Group& north =
      StartGroup("north", {}, [](AggregatorOptions& options) { options.min_clients = 1; });
  options_.parent = ParentIn(north, "top");
  StartInVain(north.options.place, GroupJob(), 0);
  StartInVain(place_, Job(), 1);
  const absl::Status top = Run();
  JoinAll();
  EXPECT_FALSE(top.ok());
  EXPECT_FALSE(north.status.ok());
  const std::string both = StrCat(top.message(), "; ", north.status.message());
  EXPECT_THAT(both,
              HasSubstr("the aggregators are a ring: this one is behind its own client; one of "
                        "them needs another parent, or none"));
}

TEST_F(ParentTest, AnAggregatorIsNotItsOwnParent) {
  Group& north = StartGroup("north", {}, [](AggregatorOptions& options) {
    options.timeout = std::chrono::seconds(8);
    options.min_clients = 1;
    options.parent->client.place = {.address = options.place.address};
    options.parent->secret = GroupJob();
  });
  StartInVain(north.options.place, GroupJob(), 0);
  JoinAll();
  EXPECT_TRUE(absl::IsFailedPrecondition(north.status)) << north.status;
  EXPECT_THAT(std::string(north.status.message()), HasSubstr("the aggregators are a ring"));
}

TEST_F(ParentTest, EqualWeightsAreThoseOfClientsNotOfGroups) {
  options_.strategy.strategy = Strategy::kAvg;
  options_.rounds = 1;
  options_.min_clients = 3;
  StartGroup("north", {0, 1});
  StartGroup("south", {2});
  Start(3);  // a client of the parent's own
  Finish();
  const std::vector<double> begin(kValues, 1);
  EXPECT_LT(Distance(state_.parameters, MeanOf(begin, {0, 1, 2, 3}, [](int) { return 1; })), 2e-6);
}

TEST_F(ParentTest, StrategiesOfTheParentContinueFromTheMean) {
  options_.strategy = {.strategy = Strategy::kFedavgm, .learning_rate = 0.5, .momentum = 0.5};
  StartGroup("north", {0, 1});
  StartGroup("south", {2, 3});
  Finish();
  std::vector<double> w(kValues, 1), v(kTrainable);
  for (int round = 0; round < 2; ++round) {
    const std::vector<double> mean =
        MeanOf(w, {0, 1, 2, 3}, [](int client) { return double(SamplesOf(client)); });
    for (size_t i = 0; i < kValues; ++i) {
      if (i >= kTrainable) {
        w[i] = mean[i];
        continue;
      }
      v[i] = 0.5 * v[i] + (w[i] - mean[i]);
      w[i] -= 0.5 * v[i];
    }
  }
  EXPECT_LT(Distance(state_.parameters, w), 4e-6);
}

TEST_F(ParentTest, TermsOfTheParentReachClients) {
  options_.strategy = {.strategy = Strategy::kFedprox, .proximal = 0.25};
  options_.min_clients = 1;
  train_ = [this](const RoundTask& task, int client) {
    Note("mu is " + std::to_string(task.proximal) + " in round " + std::to_string(task.round) +
         " of " + std::to_string(task.rounds));
    EXPECT_LE(task.deadline, 48) << "of the parent's minute";
    return Trained(task.parameters, client);
  };
  StartGroup("north", {0}, [](AggregatorOptions& o) { o.deadline = std::chrono::hours(1); });
  Finish();
  EXPECT_THAT(said(), HasSubstr("mu is 0.250000 in round 2 of 2"));
}

// A client without an update in round 3: its group has less weight then.
TEST_F(ParentTest, WeightIsThatOfTheClientsThatHaveAnswered) {
  options_.rounds = 3;
  train_ = [this](const RoundTask& task, int client) {
    // Both clients of the south are there when round 2 begins.
    if (task.round == 1 && client == 0) AwaitSaid("700 samples of 2 clients");
    return client == 3 && task.round == 3 ? std::vector<float>() : Trained(task.parameters, client);
  };
  StartGroup("north", {0, 1});
  StartGroup("south", {2, 3}, [](AggregatorOptions& options) { options.min_clients = 1; });
  std::vector<std::vector<double>> after;
  options_.round_done = [&](const RoundRecord& record, const FederationState& state) {
    records_.push_back(record);
    after.emplace_back(state.parameters.begin(), state.parameters.end());
    return absl::OkStatus();
  };
  Finish();
  const auto samples = [](int client) { return double(SamplesOf(client)); };
  const auto of = [&](size_t round) {
    return std::vector<float>(after[round].begin(), after[round].end());
  };
  EXPECT_LT(Distance(of(1), MeanOf(after[0], {0, 1, 2, 3}, samples)), 2e-6) << said();
  EXPECT_LT(Distance(of(2), MeanOf(after[1], {0, 1, 2}, samples)), 2e-6) << said();
  EXPECT_EQ(records_[1].samples, 1000);
  EXPECT_EQ(records_[2].samples, 600);
}

TEST_F(ParentTest, RoundsContinueWithoutAGroupThatHasTooFewClients) {
  options_.min_clients = 1;
  options_.timeout = std::chrono::seconds(20);
  train_ = [this](const RoundTask& task, int client) {
    if (task.round == 1) AwaitSaid("client south is there");
    return client == 3 && task.round == 2 ? std::vector<float>() : Trained(task.parameters, client);
  };
  StartGroup("north", {0, 1});
  Group& south = StartGroup("south", {2, 3}, [](AggregatorOptions& options) {
    options.timeout = std::chrono::seconds(1);
  });
  options_.rounds = 3;
  Finish();
  EXPECT_THAT(said(), HasSubstr("takes no part in this round of its parent: round 2 has waited "));
  EXPECT_THAT(
      said(),
      HasSubstr("client south is left out: it cannot take part in the sum: round 2 has waited "));
  EXPECT_EQ(records_[1].samples, 300) << "of the north alone";
  EXPECT_EQ(records_[2].samples, 1000) << "and then of all";
  EXPECT_EQ(south.records.back().round, 3);
}

// Being short of a client for one attempt is not a fault: the group is asked again.
TEST_F(ParentTest, AGroupThatWasShortOfClientsIsAskedAgainInTheRound) {
  std::atomic<bool> tired = false;
  train_ = [&tired](const RoundTask& task, int client) {
    const bool first = client == 3 && task.round == 2 && !tired.exchange(true);
    return first ? std::vector<float>() : Trained(task.parameters, client);
  };
  StartGroup("north", {0, 1});
  StartGroup("south", {2, 3},
             [](AggregatorOptions& options) { options.timeout = std::chrono::seconds(1); });
  Finish();
  EXPECT_EQ(records_[1].attempts, 2u) << said();
  EXPECT_EQ(records_[1].samples, 1000);
}

// Clients of a protected sum compare all that they have received.
TEST_F(ParentTest, ManyMaskedClientsAreToldTheSame) {
  options_.min_clients = 1;
  std::vector<int> clients(20);
  std::iota(clients.begin(), clients.end(), 0);
  std::set<double> deadlines;
  train_ = [&](const RoundTask& task, int client) {
    const std::lock_guard lock(mutex_);
    if (task.round == 1) deadlines.insert(task.deadline);
    return Trained(task.parameters, client);
  };
  Group& north = StartGroup("north", clients, [](AggregatorOptions& options) {
    options.protection.protection = Protection::kMasked;
  });
  Finish();
  EXPECT_EQ(deadlines.size(), 1u) << said();
  EXPECT_LE(*deadlines.begin(), 24) << "half of four fifths of the parent's minute";
  EXPECT_EQ(north.records[0].attempts, 1u);
}

// Clients that come count from the next round on.
TEST_F(ParentTest, TheParentHearsOfClientsThatCome) {
  Group& north = StartGroup("north", {0});
  StartClient(north, 1, "round 1 has begun");
  Start(4, [this](const RoundTask& task, int client) {
    Note("round 1 has begun");
    if (task.round == 1) AwaitSaid("client north has 300 samples of 2 clients now");
    return Trained(task.parameters, client);
  });
  Finish();
  EXPECT_EQ(records_[0].samples, 100 + 500);
  EXPECT_EQ(records_[1].samples, 300 + 500);
  EXPECT_EQ(records_[1].clients[1].name, "north");
  EXPECT_EQ(records_[1].clients[1].clients, 2);
}

// Beside two good clients, a process that says that it is an aggregator.
class LyingGroupTest : public ParentTest {
 protected:
  // Its update, of numbers that would win, comes with this report.
  void RunWith(const Hello& hello, const Report& report, const std::string& until) {
    const Train train = [this, until](const RoundTask& task, int client) {
      AwaitSaid(task.round == 1 ? "client liar is there" : until);
      return Trained(task.parameters, client);
    };
    Start(0, train);
    Start(1, train);
    threads_.emplace_back([this, hello, report] {
      AwaitSaid("client-0 is there");
      AwaitSaid("client-1 is there");
      RawClient raw(place_);
      raw.SendHello(hello);
      const Welcome welcome = Must(WelcomeFromBytes(raw.Await(FrameKind::kWelcome)->body));
      const Frame begin = *raw.Await(FrameKind::kRound);
      SendUpdate(raw, begin, welcome);
      raw.Send(FrameKind::kReport, begin.header.attempt, 0, ToBytes(report));
      raw.Await(FrameKind::kHello);  // which does not come: until all is over
    });
    ASSERT_EQ(Run(), absl::OkStatus()) << said();
    JoinAll();
    EXPECT_THAT(said(), HasSubstr(until));
    EXPECT_LT(Distance(state_.parameters, Wanted({0, 1}, 2)), 2e-5) << said();
  }

  static void SendUpdate(RawClient& raw, const Frame& begin, const Welcome& welcome) {
    const Secret job = Must(Job().Derive(kTagPurpose, welcome.nonce));
    const int position = int(Must(RoundStartFromBytes(begin.body)).position);
    codec::UpdateClient codec(Must(codec::PlainClient(codec::WireType::kFloat32, kParameterChunk)),
                              position, Must(codec::ClientTagKey(job, position)),
                              Must(codec::ServerTagKey(job)));
    const std::vector<float> update(kValues, 1000);
    for (size_t at = 0; at < kValues; at += kParameterChunk) {
      const auto chunk = uint32_t(at / kParameterChunk);
      const auto part = std::span(update).subspan(at, std::min(kParameterChunk, kValues - at));
      raw.Send(FrameKind::kUpdate, begin.header.attempt, chunk,
               Must(codec.Encode({begin.header.attempt, chunk}, part)));
    }
  }

  static Hello HelloOf(int64_t clients) {
    Hello hello = GoodHello("liar");
    hello.samples = 500;
    hello.clients = clients;
    return hello;
  }
};

TEST_F(LyingGroupTest, MoreClientsThanItHasSaid) {
  RunWith(HelloOf(3), {.samples = 500, .clients = 4},
          "client liar is left out: reports a mean of 4 clients with 500 samples; before the "
          "round it had 3 with 500");
}

TEST_F(LyingGroupTest, MoreSamplesThanItHasSaid) {
  RunWith(HelloOf(3), {.samples = 501, .clients = 3},
          "client liar is left out: reports a mean of 3 clients with 501 samples; before the "
          "round it had 3 with 500");
}

TEST_F(LyingGroupTest, NoClients) {
  RunWith(HelloOf(3), {.samples = 500, .clients = 0}, "reports a mean of 0 clients");
}

// Its claim has made the weights of all others nothing.
TEST_F(LyingGroupTest, NextToNothingOfWhatItHasSaid) {
  Hello hello = HelloOf(3);
  hello.samples = int64_t{1} << 40;
  RunWith(hello, {.samples = 1, .clients = 3},
          "client liar is left out: reports a mean of 1 samples; before the round it had "
          "1099511627776");
}

TEST_F(LyingGroupTest, ClientsOfOneThatIsNoAggregator) {
  RunWith(HelloOf(0), {.samples = 500, .clients = 2},
          "client liar is left out: reports a mean of 2 clients, but has not come as an "
          "aggregator");
}

// A size without clients, and one of a client that is not an aggregator, end the connection.
TEST_F(LyingGroupTest, WrongSizesEndTheConnection) {
  options_.rounds = 1;
  for (const char* name : {"nobody", "plain"}) {
    threads_.emplace_back([this, name] {
      RawClient raw(place_);
      Hello hello = HelloOf(name == std::string("plain") ? 0 : 3);
      hello.name = name;
      raw.SendHello(hello);
      raw.Await(FrameKind::kWelcome);
      raw.Send(FrameKind::kSize, 0, 0, ToBytes(GroupSize{.clients = 0, .samples = 5}));
      while (raw.Await(FrameKind::kRound)) {
        // Asked before its size was read.
      }
    });
  }
  Start(0, nullptr, "client nobody has left: size: 0 clients with 5 samples; expected 1 to ");
  Start(1, nullptr, "client plain has left: a frame \"size\" that nobody asked for");
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
  EXPECT_LT(Distance(state_.parameters, Wanted({0, 1}, 1)), 2e-5);
}

// Why an aggregator cannot be a client of a federation with these options.
class NoGroupsTest : public ParentTest {
 protected:
  void ExpectRefusal(const std::function<void(AggregatorOptions&)>& change,
                     const std::string& why) {
    options_.min_clients = 1;
    options_.rounds = 1;
    change(options_);
    Group& group = StartGroup("north", {}, [](AggregatorOptions& options) {
      options.buffer = {};
      options.protection = {};
      options.min_clients = 1;
      options.timeout = std::chrono::seconds(5);
    });
    // Its client calls until it hears nothing any more.
    threads_.emplace_back([this, place = group.options.place] {
      ClientOptions options = PlainOptionsOf(0);
      options.protection = {};
      options.place = place;
      options.place.listener = -1;
      options.timeout = std::chrono::seconds(1);
      const auto self = Must(FederationClient::Create(options, GroupJob()));
      EXPECT_TRUE(absl::IsUnavailable(self->Next().status()));
    });
    Start(1, nullptr, why);
    if (options_.protection.protection == Protection::kMasked) Start(2, nullptr, why);
    ASSERT_EQ(Run(), absl::OkStatus()) << said();
    JoinAll();
    EXPECT_TRUE(absl::IsFailedPrecondition(group.status)) << group.status;
    EXPECT_THAT(std::string(group.status.message()), HasSubstr(why));
  }
};

TEST_F(NoGroupsTest, FedNova) {
  ExpectRefusal([](auto& options) { options.strategy.strategy = Strategy::kFednova; },
                "strategy fednova needs the samples and steps of each client");
}

TEST_F(NoGroupsTest, Invwavg) {
  ExpectRefusal([](auto& options) { options.strategy.strategy = Strategy::kInvwavg; },
                "strategy invwavg needs the samples");
}

TEST_F(NoGroupsTest, RoundsThatDoNotWait) {
  ExpectRefusal([](auto& options) { options.buffer.size = 1; },
                "its rounds do not wait, and aggregators can only be clients of rounds that do");
}

TEST_F(NoGroupsTest, MaskedSums) {
  ExpectRefusal(
      [](auto& options) {
        options.protection.protection = Protection::kMasked;
        options.min_clients = 2;
      },
      "its updates have no encryption");
}

// Classes of other names are found across groups, whose aggregators do not know them.
TEST_F(ParentTest, ClassesOfAnotherGroupAreCompared) {
  options_.min_clients = 1;
  options_.rounds = 1;
  names_ = {"cat", "dog"};
  StartGroup("north", {0});
  Group& south = StartGroup(
      "south", {},
      [](AggregatorOptions& options) {
        options.min_clients = 1;
        options.timeout = std::chrono::seconds(5);
      },
      "client north is there");
  train_ = [this](const RoundTask& task, int client) {
    AwaitSaid("the classes of its data have other names");
    return Trained(task.parameters, client);
  };
  threads_.emplace_back([this, &south, place = south.options.place] {
    ClientOptions options = PlainOptionsOf(1);
    options.place = place;
    options.place.listener = -1;
    options.class_names = {"dog", "cat"};
    // Until its aggregator has ended, too.
    options.interrupted = [&south] { return south.ended.load(); };
    AwaitSaid("client north is there");
    const auto self = Must(FederationClient::Create(options, GroupJob()));
    EXPECT_FALSE(self->Next().ok());
  });
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
  JoinAll();
  EXPECT_TRUE(absl::IsFailedPrecondition(south.status)) << south.status;
}

TEST_F(ParentTest, OptionsThatAreTheParentsAreRefused) {
  const auto why = [this](const std::function<void(AggregatorOptions&)>& change) {
    return WhyRefused([&](AggregatorOptions& options) {
      options.parent = ParentAs("north");
      change(options);
    });
  };
  EXPECT_THAT(why([](auto& options) { options.strategy.strategy = Strategy::kFedadam; }),
              HasSubstr("strategy fedadam of an aggregator with a parent: the parent has the"));
  EXPECT_THAT(why([](auto& options) { options.buffer.size = 1; }),
              HasSubstr("has rounds that wait: each is one of its parent's"));
  EXPECT_THAT(why([](auto& options) { options.protection.protection = Protection::kSharedKey; }),
              HasSubstr("its clients cannot share a key that it does not have"));
  EXPECT_THAT(why([](auto& options) { options.protection.privacy = {.clip = 1, .noise = 1}; }),
              HasSubstr("differential privacy is not for an aggregator with a parent"));
  EXPECT_THAT(why([](auto& options) { options.model.local[0] = 1; }),
              HasSubstr("local parameters are not for an aggregator with a parent"));
}

}  // namespace
}  // namespace dtnn::federation
