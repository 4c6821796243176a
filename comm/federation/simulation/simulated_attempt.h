// One attempt at a simulated round: its clients train, and their updates are added up.

#ifndef DTNN_COMM_FEDERATION_SIMULATION_SIMULATED_ATTEMPT_H_
#define DTNN_COMM_FEDERATION_SIMULATION_SIMULATED_ATTEMPT_H_

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/federation/aggregator/asked.h"
#include "comm/federation/simulation/ordered_updates.h"
#include "comm/federation/simulation/simulated_sum.h"
#include "comm/federation/simulation/simulation.h"
#include "comm/federation/simulation/simulation_seed.h"

namespace dtnn::federation {

class SimulatedAttempt {
 public:
  // Number `state.attempts`; `ids` of the clients that are asked. All references outlive it.
  SimulatedAttempt(const SimulationOptions& options, const Protector& protector,
                   const SimulationSeed& seed, const TrainClient& train,
                   const FederationState& state, std::vector<int> ids, std::vector<Asked> asked);

  // An error of a client's training.
  absl::Status Run();
  // The mean of the updates that were accepted; what the attempt fails with.
  absl::StatusOr<std::vector<float>> Mean();

  const std::vector<Asked>& asked() const { return asked_; }
  int accepted() const;
  // Where the clients' own were hidden in the sum: their means.
  const Metrics& metrics() const { return metrics_; }

 private:
  absl::Status DropOut();
  UpdateNumbers Train(int thread, int position);
  absl::StatusOr<UpdateNumbers> Numbers(std::span<const float> parameters, int position);
  void Take(int position, UpdateNumbers update);

  const SimulationOptions& options_;
  const Protector& protector_;
  const SimulationSeed& seed_;
  const TrainClient& train_;
  const uint64_t attempt_;
  const std::vector<int> ids_;
  std::vector<Asked> asked_;
  const size_t values_;
  const RoundTask task_;
  const int together_;
  SimulatedSum sum_;
  Metrics metrics_;
  std::mutex mutex_;
  std::atomic<bool> failed_ = false;
  absl::Status error_;  // of the first client that has failed
};

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_SIMULATION_SIMULATED_ATTEMPT_H_
