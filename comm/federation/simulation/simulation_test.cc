#include "comm/federation/simulation/simulation.h"

#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "comm/federation/aggregator/choice/choice.h"
#include "comm/federation/testing/simulation_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn::federation {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class StrategyTest : public SimulationTest, public ::testing::WithParamInterface<Strategy> {};

INSTANTIATE_TEST_SUITE_P(All, StrategyTest,
                         ::testing::Values(Strategy::kAvg, Strategy::kWavg, Strategy::kInvwavg,
                                           Strategy::kFedprox, Strategy::kFednova,
                                           Strategy::kFedavgm, Strategy::kFedadam,
                                           Strategy::kFedyogi, Strategy::kFedadagrad),
                         [](const auto& info) { return std::string(Name(info.param)); });

TEST_P(StrategyTest, TheBitsAreThoseOfAFederation) {
  simulation_.strategy.strategy = GetParam();
  RunBoth();
  EXPECT_EQ(simulated_.parameters, state_.parameters);
  EXPECT_EQ(simulated_.moments.first, state_.moments.first);
  EXPECT_EQ(simulated_.moments.second, state_.moments.second);
  ASSERT_EQ(simulated_records_.size(), 3u);
  EXPECT_EQ(simulated_records_[2].metrics, records_[2].metrics);
  EXPECT_EQ(simulated_records_[2].samples, records_[2].samples);
  EXPECT_EQ(simulated_records_[2].attempts, 1u);
}

// Client k takes steps of gradient descent on (x - k^2)^2 / 2, each another number of them. The
// least of the sum of all is at the mean of k^2; the mean of parameters, FedAvg, is drawn to the
// clients of many steps.
TEST_F(SimulationTest, UnequalStepsMoveTheMeanOfParametersAndNotFednova) {
  constexpr double kRate = 0.002, kRight = (0 + 1 + 4) / 3.0;
  simulation_.model.values = simulation_.model.trainable = 1;
  simulation_.rounds = 1500;
  simulation_.clients_per_round = simulation_.min_clients = 3;
  clients_.resize(3);
  for (int k = 0; k < 3; ++k) {
    clients_[size_t(k)].samples = 100;
    clients_[size_t(k)].steps = 2 + 3 * k;
  }
  train_ = [this](int thread, int client, const RoundTask& task) {
    double x = task.parameters[0];
    for (int64_t step = 0; step < clients_[size_t(client)].steps; ++step) {
      x -= kRate * (x - client * client);
    }
    trained_[size_t(thread)] = {float(x)};
    return absl::StatusOr<SimulatedUpdate>(SimulatedUpdate{
        .parameters = trained_[size_t(thread)], .report = {.samples = 100, .seconds = 0.1}});
  };
  const auto end = [this](Strategy strategy, Protection protection) {
    simulation_.strategy.strategy = strategy;
    simulation_.protection.protection = protection;
    simulated_ = {};
    simulated_.parameters = {0};
    EXPECT_EQ(Simulate(1), absl::OkStatus()) << said();
    return double(simulated_.parameters[0]);
  };
  EXPECT_GT(end(Strategy::kWavg, Protection::kNone), kRight + 0.5);
  EXPECT_NEAR(end(Strategy::kFednova, Protection::kNone), kRight, 0.02);
  EXPECT_NEAR(end(Strategy::kFednova, Protection::kMasked), kRight, 0.02);
}

class CompressionTest : public SimulationTest, public ::testing::WithParamInterface<const char*> {
 protected:
  CompressionTest() {
    simulation_.compression = Must(ParseCompression(GetParam()));
    simulation_.seed = 5;
    tune_ = [](int, ClientOptions& options) { options.seed = 5; };
  }
};

INSTANTIATE_TEST_SUITE_P(All, CompressionTest,
                         ::testing::Values("bf16", "fp16", "int8", "top-k:0.05"));

// With the bytes of the first `kTrainable` numbers, and running statistics as they are.
TEST_P(CompressionTest, TheBitsAreThoseOfAFederationAndTheBytesAreFewer) {
  RunBoth();
  EXPECT_EQ(simulated_.parameters, state_.parameters);
  EXPECT_EQ(simulated_records_[2].metrics, records_[2].metrics);
  const std::map<std::string, double> bytes = {
      {"bf16", 2}, {"fp16", 2}, {"int8", 1.016}, {"top-k:0.05", 0.3}};
  const double update =
      bytes.at(GetParam()) * double(kTrainable) + 4.0 * double(kValues - kTrainable);
  EXPECT_NEAR(double(records_[2].bytes_received), kClients * update, kClients * 1000);
  EXPECT_GT(records_[2].bytes_sent, kClients * 4 * kValues) << "parameters are sent whole";
  const std::vector<double> wanted = Wanted({0, 1, 2, 3, 4}, 3);
  const size_t statistics = kValues - kTrainable;
  EXPECT_LT(Distance(std::span(state_.parameters).last(statistics),
                     {wanted.end() - statistics, wanted.end()}),
            1e-5)
      << "they lose nothing";
  if (simulation_.compression.owes()) return;
  EXPECT_LT(Distance(state_.parameters, wanted), 0.02);
  EXPECT_GT(Distance(state_.parameters, wanted), 1e-6) << "the others do";
}

// Another seed rounds otherwise, which only int8 does by chance.
TEST_P(CompressionTest, OnlyInt8DependsOnTheSeed) {
  ASSERT_EQ(Simulate(1), absl::OkStatus()) << said();
  const std::vector<float> first = std::move(simulated_.parameters);
  simulated_ = {};
  simulated_.parameters.assign(kValues, 1);
  simulation_.seed = 6;
  ASSERT_EQ(Simulate(2), absl::OkStatus()) << said();
  EXPECT_EQ(simulated_.parameters == first, simulation_.compression.kind != CompressionKind::kInt8);
}

// The other client's update is used alone.
TEST_P(CompressionTest, WhatCannotBeSentIsLeftOut) {
  simulation_.min_clients = simulation_.clients_per_round = 2;
  simulation_.rounds = 1;
  simulation_.min_clients = 1;
  clients_.resize(2);
  train_ = [this](int thread, int client, const RoundTask& task) {
    trained_[size_t(thread)] = task.parameters;
    trained_[size_t(thread)][7] = client == 1 ? INFINITY : 2;
    return absl::StatusOr<SimulatedUpdate>(SimulatedUpdate{
        .parameters = trained_[size_t(thread)], .report = {.samples = 100, .seconds = 0.1}});
  };
  ASSERT_EQ(Simulate(1), absl::OkStatus()) << said();
  EXPECT_THAT(said(), HasSubstr("client client-1 is left out: codec "));
  EXPECT_EQ(simulated_.parameters[7], 2);
  EXPECT_EQ(simulated_.parameters[8], 1);
}

TEST_F(SimulationTest, ARobustMeanIsOfWhatWasRead) {
  simulation_.compression.kind = CompressionKind::kInt8;
  simulation_.robust.kind = RobustKind::kMedian;
  RunBoth();
  EXPECT_EQ(simulated_.parameters, state_.parameters);
}

TEST_F(SimulationTest, CompressedUpdatesHaveNormsToo) {
  simulation_.compression.kind = CompressionKind::kInt8;
  simulation_.max_update_norm = 150;  // of the last clients they are larger
  simulation_.min_clients = 1;
  options_.min_clients = 1;
  ASSERT_EQ(Simulate(1), absl::OkStatus()) << said();
  EXPECT_THAT(said(), HasSubstr("client client-4 is left out: its update has the norm "));
  simulation_.compression = {.kind = CompressionKind::kTopK, .fraction = 0.5};
  EXPECT_THAT(std::string(Simulate().message()),
              HasSubstr("top-k updates: not with a bound of norms: "));
}

TEST_F(SimulationTest, CompressionAndMasksExcludeEachOther) {
  simulation_.compression.kind = CompressionKind::kInt8;
  simulation_.protection.protection = Protection::kMasked;
  EXPECT_THAT(std::string(Simulate().message()),
              HasSubstr("compressed updates: not with encryption"));
}

TEST_F(SimulationTest, MasksLeaveTheSameBits) {
  simulation_.protection.protection = Protection::kMasked;
  RunBoth();
  EXPECT_EQ(simulated_.parameters, state_.parameters);
  EXPECT_EQ(simulated_records_[2].metrics, records_[2].metrics);
  ASSERT_EQ(records_[2].metrics.size(), 1u);
  for (const Asked& asked : simulated_records_[2].clients) {
    EXPECT_TRUE(asked.report.metrics.empty()) << "only their mean can be read";
  }
}

// The fewest clients of which not all are neighbours: 12 of the 15 others.
TEST_F(SimulationTest, MasksOfNeighboursLeaveTheSameBits) {
  simulation_.protection = {.protection = Protection::kMasked, .mask_neighbours = 1};
  simulation_.clients_per_round = simulation_.min_clients = 16;
  while (clients_.size() < 16) AddClient();
  ASSERT_EQ(Must(Protector::Create(simulation_.protection, kValues)).mask_neighbours(16), 12);
  RunBoth();
  EXPECT_EQ(simulated_.parameters, state_.parameters);
  EXPECT_EQ(simulated_records_[2].metrics, records_[2].metrics);
  EXPECT_EQ(records_[2].attempts, 1u);
}

// As many as a round may ask; a third of them less one may be missing.
TEST_F(SimulationTest, AThousandClientsOfWhichThreeTenthsDropOut) {
  simulation_.protection = {.protection = Protection::kMasked, .mask_neighbours = 1};
  simulation_.clients_per_round = 1000;
  simulation_.min_clients = 600;
  simulation_.drop_out = 0.3;
  simulation_.rounds = 2;
  while (clients_.size() < 1000) AddClient();
  train_ = [train = train_](int thread, int client, const RoundTask& task) {
    return train(thread, client % 7, task);  // numbers that are small enough
  };
  ASSERT_EQ(Simulate(), absl::OkStatus()) << said();
  const RoundRecord& record = simulated_records_.back();
  EXPECT_EQ(record.clients.size(), 1000u);
  const auto used = std::ranges::count(record.clients, Asked::State::kAccepted, &Asked::state);
  EXPECT_NEAR(double(used), 700, 60);
  EXPECT_GE(used, 667) << "with fewer the attempt fails";
  simulation_.protection.mask_neighbours = 0;
  EXPECT_EQ(Simulate().message(), "masked sums of 1000 clients: expected 255 at most");
}

class PrivateTest : public SimulationTest, public ::testing::WithParamInterface<Protection> {};

INSTANTIATE_TEST_SUITE_P(All, PrivateTest,
                         ::testing::Values(Protection::kNone, Protection::kMasked));

// A client that sends what no other does moves these means little, and both alike.
TEST_F(SimulationTest, RobustMeansAreThoseOfAFederation) {
  simulation_.robust = {.kind = RobustKind::kTrimmed, .number = 0.2};
  options_.robust = simulation_.robust;
  RunBoth();
  EXPECT_EQ(simulated_.parameters, state_.parameters);
  const std::vector<float> honest = simulated_.parameters;
  simulation_.liars = 1;
  simulation_.lie = -50;
  for (const bool robust : {true, false}) {
    if (!robust) simulation_.robust = {};
    simulated_ = {};
    simulated_.parameters.assign(kValues, 1);
    ASSERT_EQ(Simulate(), absl::OkStatus());
    const double distance = Distance(simulated_.parameters, {honest.begin(), honest.end()});
    EXPECT_EQ(distance < 1, robust) << distance;
  }
}

// Noise is another one in both, of course.
TEST_P(PrivateTest, ClippedUpdatesAndTheAccountAreThoseOfAFederation) {
  simulation_.protection = {.protection = GetParam(), .privacy = {.clip = 5, .noise = 1e-9}};
  RunBoth();
  const std::vector<double> wanted(state_.parameters.begin(), state_.parameters.end());
  EXPECT_LT(Distance(simulated_.parameters, wanted), 3e-6);
  EXPECT_TRUE(simulated_records_[2].metrics.empty());
  EXPECT_EQ(simulated_.privacy.model().spent(), state_.privacy.model().spent());
  EXPECT_EQ(simulated_.privacy.aggregator().spent(), state_.privacy.aggregator().spent());
  EXPECT_EQ(simulated_records_[2].epsilons->model, records_[2].epsilons->model);
}

// With next to no noise, which no clip may shrink: it grows from round to round.
TEST_P(PrivateTest, ClipsThatAdaptAreThoseOfAFederation) {
  simulation_.protection = {.protection = GetParam(),
                            .privacy = {.clip = 100, .noise = 1e-9, .quantile = 0.95}};
  RunBoth();
  const std::vector<double> wanted(state_.parameters.begin(), state_.parameters.end());
  EXPECT_LT(Distance(simulated_.parameters, wanted), 3e-5);
  for (size_t round = 0; round < 3; ++round) {
    EXPECT_EQ(simulated_records_[round].clipping->clip, records_[round].clipping->clip);
    EXPECT_EQ(simulated_records_[round].clipping->below, records_[round].clipping->below);
  }
  EXPECT_EQ(simulated_.clip, state_.clip);
  EXPECT_TRUE(records_[2].metrics.empty());
  EXPECT_TRUE(simulated_records_[2].metrics.empty());
  EXPECT_GT(records_[2].clipping->clip, 100);
  EXPECT_GT(records_[2].clipping->below, 0);
  EXPECT_EQ(simulated_.privacy.model().spent(), state_.privacy.model().spent());
}

// 20 clients move by 1 to 20: the clip comes to rest where that share of them is below.
TEST_F(SimulationTest, TheClipFollowsTheQuantileOfLengths) {
  while (clients_.size() < 20) AddClient();
  simulation_.model.values = simulation_.model.trainable = 400;
  simulation_.clients_per_round = simulation_.min_clients = 20;
  simulation_.rounds = 160;
  simulation_.strategy.strategy = Strategy::kAvg;
  train_ = [this](int thread, int client, const RoundTask& task) {
    std::vector<float>& own = trained_[size_t(thread)];
    own = task.parameters;
    // Each has this length, and a direction of its own, to and fro.
    own[size_t(client)] += float(task.round % 2 == 0 ? client + 1 : -client - 1);
    return absl::StatusOr<SimulatedUpdate>(
        SimulatedUpdate{.parameters = own, .report = {.samples = SamplesOf(client)}});
  };
  for (const Protection protection : {Protection::kNone, Protection::kMasked}) {
    for (const double quantile : {0.2, 0.5, 0.9}) {
      simulation_.protection = {
          .protection = protection,
          .privacy = {.clip = 1, .noise = 0.02, .quantile = quantile, .bit_noise = 0.5}};
      simulated_ = {};
      simulated_.parameters.assign(400, 1);
      simulated_records_.clear();
      ASSERT_EQ(Simulate(), absl::OkStatus()) << said();
      EXPECT_EQ(simulated_records_[0].clipping->clip, 1);
      EXPECT_NEAR(std::log(simulated_.clip / (20 * quantile + 0.5)), 0, 0.25) << quantile;
      double below = 0;  // its noise is 0.11 at most in a round
      for (size_t round = 60; round < 160; ++round) {
        below += simulated_records_[round].clipping->below / 100;
      }
      EXPECT_NEAR(below, quantile, 0.05) << quantile;
    }
  }
}

// Clients that move by nothing make the clip smaller, until their noise would be lost in rounding.
TEST_F(SimulationTest, TheClipDoesNotBecomeSmallerThanRoundingAllows) {
  simulation_.protection = {.protection = Protection::kMasked,
                            .privacy = {.clip = 1, .noise = 0.001, .quantile = 0.1}};
  simulation_.protection.privacy.clip_rate = 5;
  train_ = [](int, int client, const RoundTask& task) {
    return absl::StatusOr<SimulatedUpdate>(
        SimulatedUpdate{.parameters = task.parameters, .report = {.samples = SamplesOf(client)}});
  };
  ASSERT_EQ(Simulate(), absl::OkStatus()) << said();
  const Protector protector = Must(Protector::Create(simulation_.protection, kValues));
  const PrivacyOptions privacy =
      simulation_.protection.privacy.WithClip(simulated_records_[2].clipping->clip);
  const double noise = NoiseOfClient(privacy, 1, protector.together(kClients, kClients));
  EXPECT_LT(privacy.clip, 0.01);
  EXPECT_GE(noise, 4 * 0x1p-20);
  EXPECT_LT(noise, 4.01 * 0x1p-20);
  EXPECT_LT(simulated_.clip, privacy.clip) << "it would become smaller";
}

TEST_F(SimulationTest, NoiseIsAFunctionOfTheSeed) {
  simulation_.protection.privacy = {.clip = 5, .noise = 0.5};
  simulation_.rounds = 2;
  std::vector<std::vector<float>> ends;
  for (const uint64_t seed : {1, 1, 2}) {
    simulation_.seed = seed;
    simulated_ = {};
    simulated_.parameters.assign(kValues, 1);
    ASSERT_EQ(Simulate(ends.size() == 1 ? 4 : 1), absl::OkStatus());
    ends.push_back(simulated_.parameters);
  }
  EXPECT_EQ(ends[0], ends[1]) << "on 1 and 4 threads";
  EXPECT_NE(ends[0], ends[2]);
}

// Clients that learn nothing: their mean is w and the mean of their noise, of which each has the
// deviation 2.5. Noise that clients or rounds have in common would not fade so.
TEST_F(SimulationTest, NoiseOfClientsAndOfRoundsIsIndependent) {
  simulation_.protection.privacy = {.clip = 5, .noise = 0.5};
  simulation_.strategy.strategy = Strategy::kAvg;
  train_ = [](int, int client, const RoundTask& task) {
    return absl::StatusOr<SimulatedUpdate>(SimulatedUpdate{
        .parameters = task.parameters, .report = {.samples = SamplesOf(client), .metrics = {}}});
  };
  for (const int rounds : {1, 2}) {
    simulation_.rounds = rounds;
    simulated_ = {};
    simulated_.parameters.assign(kValues, 1);
    ASSERT_EQ(Simulate(), absl::OkStatus());
    double squares = 0;
    for (const float x : simulated_.parameters) squares += (double(x) - 1) * (double(x) - 1);
    EXPECT_NEAR(std::sqrt(squares / kValues), 2.5 * std::sqrt(double(rounds) / kClients), 0.02)
        << rounds << ": standard deviation 0.004";
  }
}

// As a client refuses it.
TEST_F(SimulationTest, ASumThatIsOneClientsUpdateIsRefused) {
  simulation_.protection.protection = Protection::kMasked;
  simulation_.strategy.strategy = Strategy::kWavg;
  for (SimulatedClient& client : clients_) client.samples = 100;
  clients_[2].samples = 10000;
  EXPECT_TRUE(absl::IsUnavailable(Simulate()));
  EXPECT_EQ(simulated_.rounds_done, 0);
  EXPECT_THAT(said(), HasSubstr("the weights of the 5 clients of this sum hide one update no "
                                "better than 1.08 equal ones would, and this client wants 1.5"));
  simulation_.least_clients = 1;
  EXPECT_EQ(Simulate(), absl::OkStatus());
}

// As an aggregator chooses, of the same seed, with --client-fraction.
TEST_F(SimulationTest, TheSameClientsAreChosen) {
  simulation_.choice_seed = Secret();
  simulation_.choice_seed->bytes()[0] = 9;
  simulation_.min_clients = 1;
  simulation_.clients_per_round = 2;
  simulation_.rounds = 4;
  ASSERT_EQ(Simulate(), absl::OkStatus()) << said();
  std::vector<Candidate> there;
  for (int client = 0; client < kClients; ++client) {
    there.push_back({.id = client, .name = clients_[size_t(client)].name});
  }
  std::set<std::string> chosen;
  for (const RoundRecord& record : simulated_records_) {
    const Choice choice = Must(ChooseClients(there, {.min_clients = 1,
                                                     .fraction = 0.4,
                                                     .seed = *simulation_.choice_seed,
                                                     .attempt = uint64_t(record.round - 1)}));
    ASSERT_EQ(record.clients.size(), 2u);
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(record.clients[i].name, clients_[size_t(choice.ids[i])].name);
      chosen.insert(record.clients[i].name);
    }
  }
  EXPECT_GT(chosen.size(), 2u);
}

// Clients 1 to 4 have 200 to 500 samples, and 2 and 4 the label.
TEST_F(SimulationTest, OnlyClientsThatFulfilTheCriterionAreAsked) {
  simulation_.select = Must(Criterion::Parse("samples>=200,site=north"));
  simulation_.min_clients = simulation_.clients_per_round = 2;
  for (const int client : {0, 2, 4}) clients_[size_t(client)].labels = {{"site", "north"}};
  tune_ = [this](int client, ClientOptions& options) {
    options.labels = clients_[size_t(client)].labels;
  };
  RunBoth();
  EXPECT_EQ(simulated_.parameters, state_.parameters);
  for (const std::vector<RoundRecord>* records : {&records_, &simulated_records_}) {
    for (const RoundRecord& record : *records) {
      ASSERT_EQ(record.clients.size(), 2u);
      EXPECT_EQ(record.clients[0].name, "client-2");
      EXPECT_EQ(record.clients[1].name, "client-4");
    }
  }
  EXPECT_THAT(said(), HasSubstr("client client-2 is there, with 300 samples, site=north\n"));
  EXPECT_THAT(said(), HasSubstr("client client-1 is there, with 200 samples, and is not asked: it "
                                "does not fulfil samples>=200,site=north\n"));
  simulated_.rounds_done = 0;
  simulation_.min_clients = simulation_.clients_per_round = 3;
  EXPECT_EQ(Simulate().message(),
            "round 1: 2 clients can be asked, and 3 are needed, and 3 more do not fulfil "
            "samples>=200,site=north");
}

// Too few fulfil it, and the aggregator says how many others there are.
TEST_F(SimulationTest, AnAggregatorWithoutClientsThatFulfilItsCriterionSaysSo) {
  options_.select = Must(Criterion::Parse("samples>100"));
  options_.min_clients = 1;
  options_.timeout = std::chrono::seconds(2);
  threads_.emplace_back([this] {
    ClientOptions options = OptionsOf(0);  // 100 samples
    options.timeout = std::chrono::seconds(1);
    EXPECT_FALSE(Must(FederationClient::Create(options, Job()))->Next().ok());
  });
  const absl::Status status = Run();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("1 clients that can be asked; 0 are there, and 1 more does not fulfil "
                        "samples>100"));
}

TEST_F(SimulationTest, TheSameBitsOnAnyNumberOfThreads) {
  std::vector<float> first;
  for (const int threads : {1, 2, 4}) {
    simulated_ = {};
    simulated_.parameters.assign(kValues, 1);
    ASSERT_EQ(Simulate(threads), absl::OkStatus());
    if (first.empty()) first = simulated_.parameters;
    EXPECT_EQ(simulated_.parameters, first) << threads;
  }
}

// Updates that cannot be used are named, and their clients not asked again in that round.
TEST_F(SimulationTest, BadUpdatesAreLeftOut) {
  simulation_.min_clients = 2;
  simulation_.rounds = 1;
  const TrainClient good = train_;
  train_ = [&](int thread, int client, const RoundTask& task) -> absl::StatusOr<SimulatedUpdate> {
    SimulatedUpdate update = Must(good(thread, client, task));
    if (client == 1) update.declined = "its training has diverged";
    if (client == 3) trained_[size_t(thread)][7] = NAN;
    return update;
  };
  ASSERT_EQ(Simulate(), absl::OkStatus());
  EXPECT_LT(Distance(simulated_.parameters, Wanted({0, 2, 4}, 1)), 1e-6);
  EXPECT_THAT(said(), HasSubstr("round 1: client client-1 is left out: it has no update: its "
                                "training has diverged"));
  EXPECT_THAT(said(), HasSubstr("round 1: client client-3 is left out: its update has numbers "
                                "beyond 1e+12"));
  EXPECT_EQ(simulated_records_[0].samples, 100 + 300 + 500);
}

TEST_F(SimulationTest, FarUpdatesAreLeftOut) {
  simulation_.min_clients = 1;
  simulation_.rounds = 1;
  // An update is -0.5 + 0.25 (client + 1) sin(i): of length 140, 162, 193, ...
  simulation_.max_update_norm = 180;
  ASSERT_EQ(Simulate(), absl::OkStatus());
  std::vector<std::string> accepted;
  for (const Asked& asked : simulated_records_[0].clients) {
    if (asked.state == Asked::State::kAccepted) accepted.push_back(asked.name);
  }
  EXPECT_THAT(accepted, ElementsAre("client-0", "client-1"));
  EXPECT_THAT(said(), HasSubstr("more than the 180 that are allowed"));
}

TEST_F(SimulationTest, ClientsDropOutAndRoundsAreTriedAgain) {
  simulation_.drop_out = 0.5;
  simulation_.min_clients = 3;
  simulation_.rounds = 40;
  simulation_.seed = 3;
  std::atomic<int> trained = 0;
  const TrainClient good = train_;
  train_ = [&](int thread, int client, const RoundTask& task) {
    ++trained;
    return good(thread, client, task);
  };
  ASSERT_EQ(Simulate(), absl::OkStatus());
  int64_t asked = 0, lost = 0, accepted = 0;
  uint64_t attempts = 0;
  for (const RoundRecord& record : simulated_records_) {
    attempts += record.attempts;
    for (const Asked& client : record.clients) {
      ++asked;
      lost += client.why == "it has dropped out" ? 1 : 0;
      accepted += client.state == Asked::State::kAccepted ? 1 : 0;
    }
  }
  EXPECT_GT(asked, 40 * (kClients - 1)) << "all but some that were lost again and again";
  EXPECT_EQ(lost + accepted, asked);
  // Three or more of five are left in half of the attempts.
  EXPECT_GT(attempts, 55u);
  EXPECT_LT(attempts, 120u);
  EXPECT_EQ(attempts, simulated_.attempts);
  EXPECT_THAT(said(), HasSubstr("of 5 clients are left, and 3 are needed; it is tried again"));
  EXPECT_EQ(int64_t(trained), accepted)
      << "nobody trains that drops out, or where too few are left";
}

TEST_F(SimulationTest, ClientsWithoutSamplesAreNotAsked) {
  clients_[2].samples = 0;
  simulation_.min_clients = 4;
  ASSERT_EQ(Simulate(), absl::OkStatus());
  EXPECT_EQ(simulated_records_[0].clients.size(), 4u);
  simulation_.rounds = 4;
  simulation_.min_clients = 5;
  EXPECT_EQ(Simulate().message(), "round 4: 4 clients can be asked, and 5 are needed");
}

TEST_F(SimulationTest, ErrorsOfTrainingEndIt) {
  train_ = [](int, int client, const RoundTask&) -> absl::StatusOr<SimulatedUpdate> {
    if (client == 3) return absl::DataLossError("its data are gone");
    return absl::InternalError("stopped early");
  };
  const absl::Status status = Simulate(1);
  EXPECT_EQ(status, absl::InternalError("client client-0: stopped early"));
}

// Whichever is there first.
TEST_F(SimulationTest, TheErrorOfTheFirstClientIsSaid) {
  std::atomic<bool> later = false;
  train_ = [&](int, int client, const RoundTask&) -> absl::StatusOr<SimulatedUpdate> {
    if (client == 0) {
      for (int i = 0; i < 5000 && !later; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    } else {
      later = true;
    }
    return absl::InternalError("no memory");
  };
  EXPECT_EQ(Simulate(2), absl::InternalError("client client-0: no memory"));
}

TEST_F(SimulationTest, ASignalEndsItBetweenRounds) {
  simulation_.interrupted = [this] { return simulated_.rounds_done == 2; };
  EXPECT_EQ(Simulate(), absl::CancelledError("interrupted after round 2"));
  const std::vector<float> second = simulated_.parameters;
  simulation_.interrupted = nullptr;
  ASSERT_EQ(Simulate(), absl::OkStatus()) << "continues";
  const FederationState continued = simulated_;
  simulated_ = {};
  simulated_.parameters.assign(kValues, 1);
  ASSERT_EQ(Simulate(), absl::OkStatus());
  EXPECT_EQ(continued.parameters, simulated_.parameters);
  EXPECT_NE(second, simulated_.parameters);
}

TEST_F(SimulationTest, ASignalEndsItBetweenAttempts) {
  int attempts = 0;
  simulation_.begin_attempt = [&](int64_t, std::span<const Asked>) { ++attempts; };
  simulation_.interrupted = [&] { return attempts == 1; };
  simulation_.min_clients = 1;
  train_ = [](int, int, const RoundTask&) {
    return absl::StatusOr<SimulatedUpdate>(SimulatedUpdate{.declined = "it has diverged"});
  };
  EXPECT_EQ(Simulate(), absl::CancelledError("interrupted after round 0"));
  EXPECT_EQ(attempts, 1);
}

// The caller may have more of them.
TEST_F(SimulationTest, ThreadsAreThoseOfTheOptions) {
  std::atomic<int> most = 0;
  const TrainClient good = train_;
  train_ = [&](int thread, int client, const RoundTask& task) {
    most = std::max(int(most), thread);
    return good(thread, client, task);
  };
  std::thread([&] {
    SetNumThreads(4);
    simulation_.threads = 2;
    EXPECT_EQ(RunSimulation(simulation_, clients_, train_, simulated_), absl::OkStatus());
  }).join();
  EXPECT_LT(most, 2);
}

TEST_F(SimulationTest, TwoClientsOfOneNameAreRefused) {
  clients_[3].name = "client-1";
  EXPECT_EQ(Simulate(), absl::InvalidArgumentError("two clients are called client-1"));
}

TEST_F(SimulationTest, WhatMakesNoSenseIsRefused) {
  const std::pair<std::function<void(SimulationOptions&)>, const char*> bad[] = {
      {[](auto& o) { o.min_clients = 6; }, "rounds of 5 clients, and at least 6: expected 1 to 5"},
      {[](auto& o) { o.protection.protection = Protection::kThreshold; },
       "ciphertexts need clients that are processes"},
      {[](auto& o) {
         o.protection.protection = Protection::kMasked;
         o.min_clients = 1;
       },
       "at least 1: expected 2 to 5"},
      {[](auto& o) {
         o.protection.protection = Protection::kMasked;
         o.clients_per_round = 256;
       },
       "masked sums of 256 clients: expected 255 at most"},
      {[](auto& o) {
         o.protection.protection = Protection::kMasked;
         o.max_update_norm = 1;
       },
       "norms of updates cannot be limited"},
      {[](auto& o) {
         o.robust.kind = RobustKind::kMedian;
         o.protection.privacy = {.clip = 1, .noise = 1};
       },
       "robust means need updates that the aggregator can read one by one, without noise"},
      {[](auto& o) { o.robust = {.kind = RobustKind::kKrum, .number = 0.4}; },
       "krum:0.4 of 5 to 5 updates: expected at least 11"},
      {[](auto& o) { o.drop_out = 1; }, "a drop-out of 1: expected 0 or more, below 1"},
      {[](auto& o) { o.model.values = 3; }, "the state has 70001 parameters, the model 3"},
  };
  const SimulationOptions good = simulation_;
  for (const auto& [change, message] : bad) {
    simulation_ = good;
    change(simulation_);
    const absl::Status status = Simulate();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << message;
    EXPECT_THAT(std::string(status.message()), HasSubstr(message));
  }
}

// Whichever fails first: here the second one does, after the first.
TEST_F(SimulationTest, TheErrorIsThatOfTheFirstClient) {
  for (const int last : {0, 1}) {
    std::atomic<int> begun = 0, failed = 0;
    train_ = [&](int /*thread*/, int client, const RoundTask&) {
      ++begun;
      while (begun < 2) std::this_thread::yield();
      if (client == last) {
        while (failed == 0) std::this_thread::yield();
        // The other one's error is noted meanwhile.
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      }
      ++failed;
      return absl::StatusOr<SimulatedUpdate>(absl::DataLossError("x"));
    };
    const absl::Status status = Simulate();
    EXPECT_EQ(status, absl::DataLossError("client " + clients_[0].name + ": x"));
  }
}

}  // namespace
}  // namespace dtnn::federation
