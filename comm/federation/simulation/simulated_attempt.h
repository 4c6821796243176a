// One attempt at a simulated round: its clients train, and their updates are added up.

#ifndef DTNN_COMM_FEDERATION_SIMULATION_SIMULATED_ATTEMPT_H_
#define DTNN_COMM_FEDERATION_SIMULATION_SIMULATED_ATTEMPT_H_

#include <atomic>
#include <climits>
#include <cstdint>
#include <mutex>
#include <optional>
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

  // The error of the first client whose training has one. Where too many drop out, nobody trains.
  absl::Status Run();
  // The mean of the updates that were accepted; what the attempt fails with.
  absl::StatusOr<std::vector<float>> Mean();

  const std::vector<Asked>& asked() const { return asked_; }
  const std::vector<int>& ids() const { return ids_; }  // of the same
  int accepted() const;
  // Where the clients' own were hidden in the sum: their means.
  const Metrics& metrics() const { return metrics_; }
  double clip() const { return clip_; }
  // Where the clip adapts, after Mean(): as Attempt::below.
  std::optional<double> below() const { return below_; }

 private:
  absl::Status DropOut();
  UpdateNumbers Train(int thread, int position);
  absl::StatusOr<UpdateNumbers> Numbers(std::span<const float> parameters, int position);
  absl::StatusOr<UpdateNumbers> Compressed(std::span<const float> parameters,
                                           const Asked& asked) const;
  void Take(int position, UpdateNumbers update);

  const SimulationOptions& options_;
  const Protector& protector_;
  const SimulationSeed& seed_;
  const TrainClient& train_;
  const uint64_t attempt_;
  const std::vector<int> ids_;
  std::vector<Asked> asked_;
  const size_t values_;
  const double clip_;  // where it adapts
  const RoundTask task_;
  const int together_, needed_;  // updates whose noise is enough, and that a mean takes
  SimulatedSum sum_;
  Metrics metrics_;
  std::optional<double> below_;
  std::mutex mutex_;
  // The first position that has failed, and its error: those before it train on.
  std::atomic<int> failed_ = INT_MAX;
  absl::Status error_;
};

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_SIMULATION_SIMULATED_ATTEMPT_H_
