// SCAFFOLD: real and simulated rounds against plain loops, of clients whose gradients are known.

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "comm/federation/testing/simulation_fixture.h"
#include "comm/secrets/sums/authenticated.h"
#include "comm/secrets/sums/plain_codec.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn::federation {
namespace {

using ::testing::HasSubstr;

constexpr size_t kNumbers = 4, kMoved = 3;  // the last number is a running statistic
constexpr int kSteps = 3;
constexpr double kRate = 0.1;

// The gradient of (k + 1) / 4 (y - b)^2 / 2, where b is another one for each client and number.
double GradientOf(int client, size_t i, double y) {
  return 0.25 * (client + 1) * (y - double((client * 7 + int(i) * 3) % 5));
}

class ScaffoldTest : public SimulationTest {
 protected:
  ScaffoldTest() {
    simulation_.model.values = kNumbers;
    simulation_.model.trainable = kMoved;
    simulation_.strategy.strategy = Strategy::kScaffold;
    options_.model = simulation_.model;
    tune_ = [this](int, ClientOptions& options) { options.model = simulation_.model; };
    state_.parameters.assign(kNumbers, 1);
    simulated_.parameters.assign(kNumbers, 1);
    train_ = [this](int thread, int client, const RoundTask& task) {
      trained_[size_t(thread)] = TrainWith(simulated_controls_, task, client);
      return absl::StatusOr<SimulatedUpdate>(
          SimulatedUpdate{.parameters = trained_[size_t(thread)],
                          .report = {.samples = SamplesOf(client),
                                     .seconds = 0.25,
                                     .metrics = {{"loss", double(client)}}}});
    };
  }

  using Controls = std::array<std::array<float, kMoved>, kClients>;

  // What a client sends: its parameters, and what its control variate changes by.
  static std::vector<float> TrainWith(Controls& controls, const RoundTask& task, int client) {
    EXPECT_EQ(task.control.size(), kMoved);
    std::vector<float> sent = task.parameters;
    std::array<float, kMoved>& own = controls[size_t(client)];
    for (size_t i = 0; i < kMoved; ++i) {
      double y = task.parameters[i];
      for (int step = 0; step < kSteps; ++step) {
        y -= kRate * (GradientOf(client, i, y) + double(task.control[i]) - double(own[i]));
      }
      sent[i] = float(y);
      const double change =
          (double(task.parameters[i]) - y) / (kSteps * kRate) - double(task.control[i]);
      own[i] = float(own[i] + change);
      sent.push_back(float(change));
    }
    sent[kMoved] = float(client + 1);
    return sent;
  }

  void RunReal() {
    options_.strategy = simulation_.strategy;
    options_.protection = simulation_.protection;
    options_.min_clients = kClients;
    for (int client = 0; client < kClients; ++client) {
      Start(client,
            [this](const RoundTask& task, int of) { return TrainWith(real_controls_, task, of); });
    }
    ASSERT_EQ(Run(), absl::OkStatus()) << said();
    JoinAll();
  }

  // Rounds of these clients, in plain loops.
  struct Reference {
    std::array<double, kNumbers> x{1, 1, 1, 1};
    std::array<double, kMoved> c{};
    std::array<std::array<double, kMoved>, kClients> own{};

    void Round(const std::vector<int>& clients, double rate = 1) {
      std::array<double, kMoved> mean{}, change{};
      double samples = 0, all = 0, statistic = 0;
      for (const int k : clients) samples += double(SamplesOf(k));
      for (int k = 0; k < kClients; ++k) all += double(SamplesOf(k));
      for (const int k : clients) {
        const double p = double(SamplesOf(k)) / samples;
        statistic += p * (k + 1);
        for (size_t i = 0; i < kMoved; ++i) {
          double y = x[i];
          for (int step = 0; step < kSteps; ++step) {
            y -= kRate * (GradientOf(k, i, y) - own[size_t(k)][i] + c[i]);
          }
          const double next = own[size_t(k)][i] - c[i] + (x[i] - y) / (kSteps * kRate);
          mean[i] += p * y;
          change[i] += p * (next - own[size_t(k)][i]);
          own[size_t(k)][i] = next;
        }
      }
      for (size_t i = 0; i < kMoved; ++i) {
        x[i] += rate * (mean[i] - x[i]);
        c[i] += samples / all * change[i];
      }
      x[kMoved] = statistic;
    }
    void Expect(const FederationState& state, double tolerance) const {
      ASSERT_EQ(state.parameters.size(), kNumbers);
      ASSERT_EQ(state.control.size(), kMoved);
      for (size_t i = 0; i < kNumbers; ++i) EXPECT_NEAR(state.parameters[i], x[i], tolerance) << i;
      for (size_t i = 0; i < kMoved; ++i) EXPECT_NEAR(state.control[i], c[i], tolerance) << i;
    }
  };

  Controls real_controls_{}, simulated_controls_{};
};

TEST_F(ScaffoldTest, RoundsOfAllClientsAreThoseOfTheFormula) {
  for (const Protection protection : {Protection::kNone, Protection::kMasked}) {
    simulation_.protection.protection = protection;
    simulated_ = {};
    simulated_.parameters.assign(kNumbers, 1);
    simulated_controls_ = {};
    ASSERT_EQ(Simulate(), absl::OkStatus()) << said();
    Reference reference;
    for (int round = 0; round < 3; ++round) reference.Round({0, 1, 2, 3, 4});
    reference.Expect(simulated_, protection == Protection::kNone ? 2e-6 : 1e-4);
  }
  RunReal();  // with masks
  EXPECT_EQ(state_.parameters, simulated_.parameters);
  EXPECT_EQ(state_.control, simulated_.control);
}

// Ciphertexts of a joint key have both, as masked sums do.
TEST_F(ScaffoldTest, ThresholdRoundsAreThoseOfTheFormula) {
  simulation_.protection.protection = Protection::kThreshold;
  RunReal();
  Reference reference;
  for (int round = 0; round < 3; ++round) reference.Round({0, 1, 2, 3, 4});
  reference.Expect(state_, 1e-4);
}

TEST_F(ScaffoldTest, PlainRoundsHaveTheBitsOfRealOnes) {
  RunReal();
  ASSERT_EQ(Simulate(), absl::OkStatus()) << said();
  EXPECT_EQ(state_.parameters, simulated_.parameters);
  EXPECT_EQ(state_.control, simulated_.control);
  EXPECT_EQ(final_.at(0), state_.parameters) << "clients get no control variate at the end";
}

// With some of the clients, the aggregator's control variate moves by their share.
TEST_F(ScaffoldTest, SomeClientsMoveTheControlVariateByTheirShare) {
  simulation_.clients_per_round = 3;
  simulation_.min_clients = 3;
  simulation_.strategy.learning_rate = 0.5;
  ASSERT_EQ(Simulate(1), absl::OkStatus()) << said();
  Reference reference;
  for (const RoundRecord& record : simulated_records_) {
    std::vector<int> asked;
    for (const Asked& client : record.clients) {
      for (int k = 0; k < kClients; ++k) {
        if (clients_[size_t(k)].name == client.name) asked.push_back(k);
      }
    }
    ASSERT_EQ(asked.size(), 3u);
    reference.Round(asked, 0.5);
  }
  reference.Expect(simulated_, 2e-6);
}

// The least of the weighted sum of all is where FedAvg does not end, whose clients make many steps.
TEST_F(ScaffoldTest, EndsWhereTheSumOfAllIsLeast) {
  simulation_.rounds = 400;
  ASSERT_EQ(Simulate(), absl::OkStatus()) << said();
  for (size_t i = 0; i < kMoved; ++i) {
    double gradient = 0;
    for (int k = 0; k < kClients; ++k) {
      gradient += double(SamplesOf(k)) / 1500 * GradientOf(k, i, simulated_.parameters[i]);
    }
    EXPECT_NEAR(gradient, 0, 1e-5) << i;
  }
}

// An update without what the control variate changes by.
TEST_F(ScaffoldTest, ControlVariatesOfAnotherSizeAreRefused) {
  options_.strategy = simulation_.strategy;
  options_.rounds = 2;
  options_.min_clients = 2;
  for (const int client : {0, 1}) {
    Start(client, [this](const RoundTask& task, int of) {
      AwaitSaid(task.round == 1 ? "client bad is there" : "client bad is left out: ");
      return TrainWith(real_controls_, task, of);
    });
  }
  threads_.emplace_back([this] {
    AwaitSaid("client-0 is there");
    AwaitSaid("client-1 is there");
    RawClient raw(place_);
    Hello hello = GoodHello("bad");
    hello.model = simulation_.model;
    raw.SendHello(hello);
    const Welcome welcome = Must(WelcomeFromBytes(raw.Await(FrameKind::kWelcome)->body));
    const Frame begin = *raw.Await(FrameKind::kRound);
    const RoundStart start = Must(RoundStartFromBytes(begin.body));
    EXPECT_TRUE(start.control);
    const Secret job = Must(Job().Derive(kTagPurpose, welcome.nonce));
    codec::UpdateClient codec(
        Must(codec::PlainClient(codec::WireType::kFloat32, kParameterChunk)), int(start.position),
        Must(codec::ClientTagKey(job, int(start.position))), Must(codec::ServerTagKey(job)));
    const std::vector<float> update(kNumbers, 100);
    raw.Send(FrameKind::kUpdate, begin.header.attempt, 0,
             Must(codec.Encode({begin.header.attempt, 0}, update)));
    raw.Send(FrameKind::kReport, begin.header.attempt, 0, ToBytes(Report{.samples = 5}));
    raw.Await(FrameKind::kHello);  // which does not come: until all is over
  });
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
  JoinAll();
  EXPECT_THAT(said(), HasSubstr("client bad is left out: "));
  EXPECT_EQ(records_.back().samples, 300) << said();
}

TEST_F(ScaffoldTest, UpdatesThatCannotCarryControlVariatesAreRefused) {
  const auto why = [this](const std::function<void(AggregatorOptions&)>& change) {
    return WhyRefused([&](AggregatorOptions& options) {
      options.strategy.strategy = Strategy::kScaffold;
      change(options);
    });
  };
  EXPECT_THAT(why([](auto& options) { options.protection.privacy = {.clip = 1, .noise = 1}; }),
              HasSubstr("strategy scaffold sends control variates, and not with differential "
                        "privacy"));
  EXPECT_THAT(why([](auto& options) { options.protection.protection = Protection::kSharedKey; }),
              HasSubstr("needs the average"));
  EXPECT_THAT(why([](auto& options) { options.model.local[0] = 1; }),
              HasSubstr("not with parameters that stay with clients"));
  EXPECT_THAT(why([](auto& options) { options.buffer.size = 2; }),
              HasSubstr("not with strategy scaffold: its control variates are of rounds"));
  EXPECT_THAT(why([](auto& options) { options.robust.kind = RobustKind::kMedian; }),
              HasSubstr("strategy scaffold needs the mean of the updates, not a robust one"));
}

}  // namespace
}  // namespace dtnn::federation
