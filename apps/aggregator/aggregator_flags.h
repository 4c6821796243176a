// The options of the aggregator, read from the command line (aggregator.cc) for the run (run.h).

#ifndef DTNN_APPS_AGGREGATOR_AGGREGATOR_FLAGS_H_
#define DTNN_APPS_AGGREGATOR_AGGREGATOR_FLAGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "apps/flags/listen_options.h"
#include "apps/flags/option_spec.h"
#include "apps/flags/options.h"
#include "apps/rounds/round_flags.h"
#include "comm/federation/protection.h"
#include "models/run/federated/federation_options.h"

namespace dtnn {

struct AggregatorFlags {
  Options run;  // network, encryption, files, time-out: those that the launcher has too
  // Samples and outputs of the network; empty or 0: as the data set or the network says.
  std::vector<int64_t> input_shape = {};  // channels, height, width
  int64_t num_classes = 0;
  std::string class_names = {};  // a file of a name per line, or the folder of a data set
  std::string address = "127.0.0.1:61643";
  std::string allowed_clients = {};    // a file: the only clients; empty: all with the secret
  std::string identity_key_file = {};  // of the key that it proves to clients; empty: none
  // Of the aggregator that this one is a client of, as run.federation.client_name; empty: none.
  std::string parent = {};
  std::string parent_secret_file = {};  // empty: the secret of its own clients
  RoundFlags rounds;
  int64_t min_clients = 2;
  double client_fraction = 1;
  double deadline = 600;  // seconds
  int64_t max_connections = 16384;
  int64_t receive_memory = 1024;  // MiB
  MonitorOptions monitor = {};
};

// The most that a round asks.
inline int MostClientsOf(const AggregatorFlags& flags) {
  const bool holds = !flags.rounds.robust.empty() && flags.rounds.buffer_size == 0;
  return federation::MostAsked(ProtectionOf(flags.run), holds);
}

inline RoundSizes SizesOf(const AggregatorFlags& flags) {
  if (flags.rounds.buffer_size > 0) return SizesOfBuffer(flags.rounds);
  return {.least = flags.min_clients, .expected = flags.min_clients, .most = MostClientsOf(flags)};
}

// All of them, bound to `flags`.
std::vector<OptionSpec> OptionsOf(AggregatorFlags& flags);

// What is not given: tests where there are data for them.
void FollowData(AggregatorFlags& flags);

// Usage errors for flags that contradict each other.
absl::Status CheckAggregatorFlags(const AggregatorFlags& flags);
// The same for rounds whose messages go through gRPC or a broker, which the environment may say.
absl::Status CheckRelayedRounds(const AggregatorFlags& flags);

}  // namespace dtnn

#endif  // DTNN_APPS_AGGREGATOR_AGGREGATOR_FLAGS_H_
