// A federation whose clients are in this process: rounds without connections, messages and
// deadlines.
//
// All else is the code of an aggregator and its clients: the choice of clients, factors, what is
// sent of parameters, which updates may be added, sums, strategies, the account of privacy,
// records. So the parameters are, to the last bit, those of an aggregator and of clients that are
// processes of their own.
//
// Each of some threads trains one client after another. Updates are added in the order of
// positions, so that sums have the same bits on any number of threads: one that comes too early
// waits. Memory: at most two updates per thread, with noise and lies up to four, whatever the
// number of clients; a robust mean keeps all updates of the round besides.

#ifndef DTNN_COMM_FEDERATION_SIMULATION_SIMULATION_H_
#define DTNN_COMM_FEDERATION_SIMULATION_SIMULATION_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/federation/aggregator/asked.h"
#include "comm/federation/aggregator/buffer/update_buffer.h"
#include "comm/federation/aggregator/choice/criterion.h"
#include "comm/federation/aggregator/federation_state.h"
#include "comm/federation/aggregator/round_record.h"
#include "comm/federation/aggregator/strategy.h"
#include "comm/federation/aggregator/sums/robust_mean.h"
#include "comm/federation/client/client_options.h"
#include "comm/federation/client/round_task.h"
#include "comm/federation/compression.h"
#include "comm/federation/labels.h"
#include "comm/federation/messages.h"
#include "comm/federation/protection.h"
#include "comm/federation/simulation/client_seconds.h"
#include "comm/secrets/crypto/wiped.h"

namespace dtnn::federation {

struct SimulatedClient {
  std::string name;
  int64_t samples = 0;  // that it trains on in a round; without any it is never asked
  int64_t steps = 1;    // updates of its parameters in a round
  Labels labels = {};
};

// What a client has made of a task.
struct SimulatedUpdate {
  std::span<const float> parameters = {};  // until the same thread trains again
  Report report = {};
  std::string declined = {};  // why there are none
};

struct SimulationOptions {
  ModelFacts model;
  ProtectionOptions protection = {};  // kNone or kMasked: sums of integers, without the masks
  StrategyOptions strategy = {};
  int64_t rounds = 1;
  Criterion select = {};  // which clients can be asked
  int clients_per_round = 1;
  int min_clients = 1;  // fewest updates of a round; with fewer it is tried again
  double max_update_norm = 0;
  // Rounds that do not wait (buffered_simulation.h): `clients_per_round` train at a time then.
  BufferOptions buffer = {};
  ClientSeconds client_seconds = {};
  Compression compression = {};          // of updates
  RobustOptions robust = {};             // as AggregatorOptions::robust
  double least_clients = kLeastClients;  // as ClientOptions::least_clients
  double drop_out = 0;                   // the probability that a client that is asked is lost
  // The first `liars` clients send w + lie (x - w) in place of x, where w are the parameters of the
  // round: with -1 the opposite of what they have learnt.
  int liars = 0;
  double lie = -1;
  int threads = 1;  // that train; fewer where the calling thread's NumThreads() are
  // Of the choice of clients, of drop-outs, of noise and of rounding: here all may know it.
  uint64_t seed = 0;
  std::optional<Secret> choice_seed = {};  // instead, of the choice
  std::function<void(std::string_view line)> warn = {};
  // Asked before every attempt at a round.
  std::function<bool()> interrupted = {};
  // Before the clients of an attempt train: those that drop out are left out already. Not where too
  // few others are there.
  std::function<void(int64_t round, std::span<const Asked> asked)> begin_attempt = {};
  // As those of AggregatorOptions.
  std::function<absl::Status(const FederationState&)> charged = {};
  std::function<absl::Status(const RoundRecord&, const FederationState&)> round_done = {};
};

// Whether rounds ask it.
inline bool CanBeAsked(const SimulationOptions& options, const SimulatedClient& client) {
  return client.samples > 0 && options.select.Fulfils({.name = client.name,
                                                       .samples = client.samples,
                                                       .steps = client.steps,
                                                       .labels = client.labels});
}

// Trains a client; calls with the same `thread`, 0 .. SimulationOptions::threads - 1, do not
// overlap. An error ends the simulation: that of the first client, in the order of names, that has
// one.
using TrainClient =
    std::function<absl::StatusOr<SimulatedUpdate>(int thread, int client, const RoundTask& task)>;

// Runs the rounds that are left. Clients have different names. InvalidArgument for options that
// make no sense, Unavailable where a round has too few clients, Cancelled where it was interrupted;
// the errors of the functions.
absl::Status RunSimulation(const SimulationOptions& options,
                           std::span<const SimulatedClient> clients, const TrainClient& train,
                           FederationState& state);

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_SIMULATION_SIMULATION_H_
