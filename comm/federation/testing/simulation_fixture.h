// What the tests of simulations share: the clients of the fixture of federations, in this process.

#ifndef DTNN_COMM_FEDERATION_TESTING_SIMULATION_FIXTURE_H_
#define DTNN_COMM_FEDERATION_TESTING_SIMULATION_FIXTURE_H_

#include <string>
#include <thread>
#include <vector>

#include "comm/federation/simulation/simulation.h"
#include "comm/federation/testing/federation_fixture.h"
#include "gtest/gtest.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn::federation {

// Clients that train as those of the fixture, in this process.
class SimulationTest : public FederationTest {
 protected:
  static constexpr int kClients = 5;

  SimulationTest() {
    for (int client = 0; client < kClients; ++client) AddClient();
    simulation_ = {.model = Model(),
                   .rounds = 3,
                   .clients_per_round = kClients,
                   .min_clients = kClients,
                   .warn = [this](std::string_view line) { Note(line); },
                   .round_done =
                       [this](const RoundRecord& record, const FederationState&) {
                         simulated_records_.push_back(record);
                         return absl::OkStatus();
                       }};
    simulated_.parameters.assign(kValues, 1);
    train_ = [this](int thread, int client, const RoundTask& task) {
      std::vector<float>& own = trained_[size_t(thread)];
      own = Trained(task.parameters, client);
      SimulatedUpdate update = {.parameters = own,
                                .report = {.samples = SamplesOf(client),
                                           .seconds = 0.25,
                                           .metrics = {{"loss", double(client)}}}};
      if (simulation_.protection.protection == Protection::kNone) {
        update.report.metrics.emplace_back("own-" + OptionsOf(client).name, 1);
      }
      return absl::StatusOr<SimulatedUpdate>(update);
    };
  }

  void AddClient() {
    const auto client = int(clients_.size());
    clients_.push_back(
        {.name = OptionsOf(client).name, .samples = SamplesOf(client), .steps = StepsOf(client)});
  }

  absl::Status Simulate(int threads = 2) {
    absl::Status status;
    std::thread([&] {
      SetNumThreads(threads);
      simulation_.threads = threads;
      status = RunSimulation(simulation_, clients_, train_, simulated_);
    }).join();
    return status;
  }

  // Both, with the same options.
  void RunBoth() {
    options_.strategy = simulation_.strategy;
    options_.protection = simulation_.protection;
    options_.min_clients = simulation_.min_clients;
    options_.max_update_norm = simulation_.max_update_norm;
    options_.select = simulation_.select;
    options_.compression = simulation_.compression;
    options_.robust = simulation_.robust;
    for (int client = 0; client < int(clients_.size()); ++client) Start(client);
    ASSERT_EQ(Run(), absl::OkStatus()) << said();
    JoinAll();
    ASSERT_EQ(Simulate(), absl::OkStatus()) << said();
  }

  std::vector<SimulatedClient> clients_;
  SimulationOptions simulation_;
  TrainClient train_;
  FederationState simulated_;
  std::vector<RoundRecord> simulated_records_;
  std::vector<float> trained_[8];
};

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_TESTING_SIMULATION_FIXTURE_H_
