// The clients of a simulated federation: of each its samples of one data set, and what trains them:
// a network with its plan per thread, which computes with that thread alone.
//
// A client trains as a client that is a process does (models/run/federated/train_round.h). Memory:
// the data set, a plan per thread, 8 bytes for each sample of a client, and the parameters that
// stay with each (models/run/federated/local_parameters.h).

#ifndef DTNN_MODELS_RUN_SIMULATION_SIMULATED_CLIENTS_H_
#define DTNN_MODELS_RUN_SIMULATION_SIMULATED_CLIENTS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/federation/client/round_task.h"
#include "comm/federation/simulation/simulation.h"
#include "models/parameters/parameter_store.h"
#include "models/run/federated/exchanged_parameters.h"
#include "models/run/federated/local_parameters.h"
#include "models/run/prepare/prepared_run.h"
#include "models/run/simulation/own_numbers_file.h"
#include "models/training/step/metric_averages.h"
#include "tensor/machine/available_memory.h"

namespace dtnn {

class SimulatedClients {
 public:
  // `run`: on the whole data set, prepared, and it outlives them. `exchanged`: of its network;
  // `first`: with the parameters that a federation begins with. `samples`: of each client,
  // ascending. `controls`: they have control variates; `owes`: they keep what they do not send of
  // updates. For NumThreads() threads, or `most_at_once`
  // where these are fewer. ResourceExhausted, before memory is taken, where what all threads need
  // is not available, besides the bytes that `round_bytes` says of so many threads: of the updates
  // of a round.
  static absl::StatusOr<std::unique_ptr<SimulatedClients>> Create(
      const PreparedRun& run, const ExchangedParameters& exchanged, const ParameterStore& first,
      std::vector<std::vector<int64_t>> samples, int64_t most_at_once,
      const std::function<double(int threads)>& round_bytes, bool controls = false,
      bool owes = false, const AvailableMemory& available = FindAvailableMemory());
  ~SimulatedClients();

  // SimulationOptions::threads.
  int threads() const { return int(workers_.size()); }
  // What an epoch of a client trains on; 0: it has no samples.
  int64_t samples(int client) const { return trained_[size_t(client)]; }
  // StepsOfRound of it.
  int64_t steps(int client) const;

  // federation::TrainClient.
  absl::StatusOr<federation::SimulatedUpdate> Train(int thread, int client,
                                                    const federation::RoundTask& task);
  // A round is done, with the update of this client: the parameters that stay with it are those
  // that it has trained in the last attempt.
  void Accept(int client) { local_.Accept(client); }
  // Whether something stays with clients: parameters, control variates, what they have not sent.
  bool keeps() const { return local_.size() > 0; }
  // The same after a round, in this folder, and back (own_numbers_file.h).
  absl::Status SaveOwn(const std::string& folder, int64_t round) const {
    return SaveOwnNumbers(folder, round, local_);
  }
  absl::Status LoadOwn(const std::string& folder, int64_t round) {
    return LoadOwnNumbers(folder, round, local_);
  }
  // These parameters on the test split, with all threads; the names have `prefix` before them. Not
  // where parameters stay with clients: there is no model of all then.
  absl::StatusOr<NamedMetrics> Test(std::span<const float> parameters, std::string_view prefix);

 private:
  struct Worker;
  SimulatedClients(const PreparedRun& run, const ExchangedParameters& exchanged,
                   const ParameterStore& first, std::vector<std::vector<int64_t>> samples,
                   bool controls, bool owes);
  std::vector<float> OwnAfter(const Worker& worker, std::vector<float> owed) const;
  absl::Status CountSamples();
  absl::StatusOr<int64_t> MaxBatch() const;
  absl::Status CheckMemory(int64_t max_batch, int threads, double round_bytes,
                           const AvailableMemory& available) const;
  absl::Status MakeWorkers(int64_t max_batch, int threads);
  absl::StatusOr<std::unique_ptr<Worker>> MakeWorker(int64_t max_batch) const;

  const PreparedRun& run_;
  const std::vector<std::vector<int64_t>> samples_;
  std::vector<int64_t> trained_;
  const ExchangedParameters exchanged_;
  const bool controls_;
  // Parameters, and what is not sent after them; or control variates.
  LocalParameters local_;
  std::vector<std::unique_ptr<Worker>> workers_;  // by thread
};

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_SIMULATION_SIMULATED_CLIENTS_H_
