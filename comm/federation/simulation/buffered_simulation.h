// Simulated rounds that do not wait (../aggregator/buffer/update_buffer.h), by a simulated clock: a
// client that is asked answers after the seconds that it takes (client_seconds.h), so that updates
// come in an order that follows from the seed. Two that come at the same time do so in the order in
// which their clients were asked.
//
// As many clients as there are threads train ahead of the clock, each from the parameters that were
// current when it was asked, so that the bits do not depend on the number of threads. Memory: at
// most two updates per thread that wait for their time, and the parameters of the rounds in which
// clients were asked that have not trained yet: `max_staleness` + 1 of them at most.

#ifndef DTNN_COMM_FEDERATION_SIMULATION_BUFFERED_SIMULATION_H_
#define DTNN_COMM_FEDERATION_SIMULATION_BUFFERED_SIMULATION_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "comm/federation/aggregator/asked.h"
#include "comm/federation/aggregator/buffer/update_buffer.h"
#include "comm/federation/aggregator/federation_state.h"
#include "comm/federation/aggregator/lost_clients.h"
#include "comm/federation/client/round_task.h"
#include "comm/federation/simulation/ordered_updates.h"
#include "comm/federation/simulation/simulation.h"
#include "comm/federation/simulation/simulation_seed.h"

namespace dtnn::federation {

class BufferedSimulation {
 public:
  // All outlive it.
  BufferedSimulation(const SimulationOptions& options, std::span<const SimulatedClient> clients,
                     const TrainClient& train, SimulationSeed seed, FederationState& state);

  absl::Status Run();

 private:
  // A client that was asked.
  struct Turn {
    int client = 0;
    int64_t version = 0;                    // of the parameters it trains from
    std::shared_ptr<const RoundTask> task;  // null when it has trained, or will not
    Asked asked;                            // left out before its time, or not yet accepted
    UpdateNumbers update = {};
    std::string missing = {};  // why there is no update, when its time comes
    absl::Status error = {};   // which ends the simulation then
  };
  // By when it answers, and its number.
  using Turns = std::map<std::pair<double, uint64_t>, Turn>;

  absl::Status RunRound();
  absl::Status AskClients();
  absl::Status AskOne(int client);
  void DropStale();
  // The first ones that have not trained.
  void TrainAhead();
  void Train(int thread, Turn& turn);
  absl::StatusOr<UpdateNumbers> Sent(std::span<const float> parameters, const RoundTask& task,
                                     const std::string& client) const;
  // The next one that answers.
  absl::Status TakeNext();
  void End(const Asked& asked);

  const SimulationOptions& options_;
  const std::span<const SimulatedClient> clients_;
  const TrainClient& train_;
  const SimulationSeed seed_;
  FederationState& state_;
  LostClients lost_;  // in this round
  UpdateBuffer buffer_;
  double clock_ = 0;
  Turns turns_;
  int running_ = 0;                        // turns that are not left out
  std::shared_ptr<const RoundTask> task_;  // of the current parameters; null: not made yet
  std::set<int> busy_;                     // clients with turns
  // Clients that have given an update of the current parameters.
  std::set<std::string> trained_;
  std::vector<Asked> ended_;  // in this round
  int64_t too_stale_ = 0;     // in this round
};

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_SIMULATION_BUFFERED_SIMULATION_H_
