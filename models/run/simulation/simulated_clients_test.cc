#include "models/run/simulation/simulated_clients.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/federation/simulation/simulation.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/run/objects/run_log.h"
#include "models/run/testing/run_fixture.h"
#include "tensor/must.h"
#include "tensor/status_macros.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

using federation::SimulatedUpdate;
using ::testing::HasSubstr;

// Patterns whose second half is brighter, and of more contrast, as from another camera.
class TwoCameras : public Dataset {
 public:
  std::string_view name() const override { return inner_->name(); }
  ImageExtents sample() const override { return inner_->sample(); }
  int64_t outputs() const override { return inner_->outputs(); }
  int64_t size(Split split) const override { return inner_->size(split); }
  std::vector<int32_t> labels(Split split) const override { return inner_->labels(split); }
  absl::Status Read(Split split, std::span<const int64_t> indices, TensorFormat format,
                    const Tensor& x, const Tensor& targets) const override {
    DTNN_RETURN_IF_ERROR(inner_->Read(split, indices, format, x, targets));
    const int64_t per_sample = x.num_elements() / int64_t(indices.size());
    for (size_t i = 0; i < indices.size(); ++i) {
      if (indices[i] < size(split) / 2) continue;
      float* const pixels = x.data<float>() + int64_t(i) * per_sample;
      for (int64_t k = 0; k < per_sample; ++k) pixels[k] = 4 * pixels[k] + 10;
    }
    return absl::OkStatus();
  }

 private:
  const std::shared_ptr<const Dataset> inner_ = Patterns();
};

class SimulatedClientsTest : public ::testing::Test {
 protected:
  SimulatedClientsTest() : data_(std::make_shared<TwoCameras>()) {
    RunOptions options = Short(1);
    options.training.batch = 5;
    options.data.validation_split = 0.25;  // tells how a client's own model does
    Network net("net");
    net.Input(*data_).Conv2d(4, {.padding = 1}).BatchNorm().Relu().Flatten().Fc(3).Softmax();
    run_ = std::make_unique<PreparedRun>(options, RunObjects{.network = net, .dataset = data_});
    log_ = std::make_unique<RunLog>(run_->options, 0, 1, RunSinks());
    Must(run_->Prepare(*log_));
    context_ = Must(DeviceContext::Create(Device::Cpu()));
    store_ = Must(ParameterStore::Create(run_->graph, *context_, DType::kFloat32, 1));
    SetNumThreads(4);
    for (int64_t i = 0; i < data_->size(Split::kTrain); ++i) {
      samples_[i < data_->size(Split::kTrain) / 2 ? 0 : 1].push_back(i);
    }
  }

  ExchangedParameters Exchanged(std::string_view local) {
    return Must(ExchangedParameters::Create(run_->graph, *store_, local));
  }
  absl::StatusOr<std::unique_ptr<SimulatedClients>> Create(std::string_view local = "",
                                                           int64_t most_at_once = 2,
                                                           const AvailableMemory& available = {},
                                                           double round_bytes = 0) {
    return SimulatedClients::Create(
        *run_, Exchanged(local), *store_, samples_, most_at_once, [=](int) { return round_bytes; },
        /*controls=*/false, /*owes=*/false, available);
  }
  std::vector<float> First(const ExchangedParameters& exchanged) {
    std::vector<float> first(exchanged.values());
    exchanged.Get(*store_, first);
    return first;
  }

  const std::shared_ptr<const Dataset> data_;
  std::unique_ptr<PreparedRun> run_;
  std::unique_ptr<RunLog> log_;
  std::unique_ptr<DeviceContext> context_;
  std::unique_ptr<ParameterStore> store_;
  std::vector<std::vector<int64_t>> samples_{2};
};

TEST_F(SimulatedClientsTest, EveryThreadTakesMemory) {
  const auto fits = [this](int64_t most_at_once, int64_t bytes, double round_bytes = 0) {
    return Create("", most_at_once, {.bytes = bytes}, round_bytes).status();
  };
  int64_t one = 0;  // the least that one thread takes, to a KiB
  while (!fits(1, one).ok()) one += 1024;
  ASSERT_GT(one, 4096);
  EXPECT_EQ(fits(4, 4 * one), absl::OkStatus());
  EXPECT_FALSE(fits(1, one, 1024).ok()) << "what the round holds besides";
  const absl::Status status = fits(4, 2 * one);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("batches of 5 samples takes "));
  EXPECT_THAT(std::string(status.message()), HasSubstr(" on each of 4 threads, "));
}

// The loss stays finite: normalised by an infinite variance, all is 0.
TEST_F(SimulatedClientsTest, AClientWhoseStatisticsBecomeInfiniteDeclines) {
  for (const std::string_view local : {"*BatchNormalization*", "*_running_*", ""}) {
    const std::vector<float> first = First(Exchanged(local));
    const auto clients = Must(Create(local));
    const SimulatedUpdate whole = Must(clients->Train(0, 0, {.round = 1, .parameters = first}));
    const std::vector<float> trained(whole.parameters.begin(), whole.parameters.end());
    const auto others = Must(Create(local));
    std::vector<float> large = first;
    std::fill_n(large.begin(), 9, 1e30f);  // weights of the convolution
    const SimulatedUpdate update = Must(others->Train(0, 0, {.round = 1, .parameters = large}));
    EXPECT_EQ(update.declined, "its training has diverged") << local;
    const SimulatedUpdate next = Must(others->Train(0, 0, {.round = 1, .parameters = first}));
    EXPECT_TRUE(std::ranges::equal(next.parameters, trained)) << local << ": nothing of it stays";
  }
}

// Each client's are where it left them, whatever the others did on the same thread.
TEST_F(SimulatedClientsTest, LocalParametersAreOfOneClient) {
  constexpr char kLocal[] = "*BatchNormalization*";
  const ExchangedParameters exchanged = Exchanged(kLocal);
  const std::vector<float> first = First(exchanged);
  const auto clients = Must(Create(kLocal));
  const auto trained = [&](int client, int64_t round) {
    const SimulatedUpdate update =
        Must(clients->Train(0, client, {.round = round, .parameters = first}));
    EXPECT_EQ(update.parameters.size(), exchanged.values());
    return std::vector<float>(update.parameters.begin(), update.parameters.end());
  };
  const std::vector<float> in_first = trained(0, 1);
  trained(1, 1);
  EXPECT_EQ(trained(0, 1), in_first) << "the round is tried again";
  for (const int client : {0, 1}) clients->Accept(client);
  const std::vector<float> in_second = trained(0, 2);
  trained(1, 2);
  clients->Accept(1);
  trained(1, 3);
  EXPECT_EQ(trained(0, 2), in_second);
  // From the same numbers that all get, another client's state, or none, makes something else.
  const auto others = Must(Create(kLocal));
  const SimulatedUpdate fresh = Must(others->Train(0, 0, {.round = 2, .parameters = first}));
  EXPECT_FALSE(std::ranges::equal(fresh.parameters, in_second));
}

// FedBN: the statistics of two cameras have no common mean that suits both.
TEST_F(SimulatedClientsTest, LocalNormalizationHelpsClientsWithShiftedInputs) {
  const auto loss_of = [this](std::string_view local) {
    const ExchangedParameters exchanged = Exchanged(local);
    const auto clients = Must(Create(local));
    double loss = 0;
    federation::SimulationOptions options = {
        .model = {.values = exchanged.values(), .trainable = exchanged.trainable()},
        .rounds = 8,
        .clients_per_round = 2,
        .min_clients = 2,
        .threads = clients->threads(),
        .round_done = [&](const federation::RoundRecord& record,
                          const federation::FederationState&) {
          for (const int client : {0, 1}) clients->Accept(client);
          for (const auto& [name, value] : record.metrics) {
            if (name == "val_categorical_cross_entropy") loss = value;
          }
          return absl::OkStatus();
        }};
    std::vector<federation::SimulatedClient> names;
    for (int k = 0; k < 2; ++k) {
      names.push_back({.name = std::to_string(k), .samples = clients->samples(k)});
    }
    federation::FederationState state;
    state.parameters = First(exchanged);
    Must(federation::RunSimulation(
        options, names,
        [&](int thread, int client, const federation::RoundTask& task) {
          return clients->Train(thread, client, task);
        },
        state));
    EXPECT_GT(loss, 0);
    return loss;
  };
  const double shared = loss_of(""), own = loss_of("*BatchNormalization*");
  EXPECT_LT(own, 0.5 * shared) << "shared " << shared;
}

}  // namespace
}  // namespace dtnn
