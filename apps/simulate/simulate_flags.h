// The options of simulate, read from the command line (simulate.cc) for the run (run.h).

#ifndef DTNN_APPS_SIMULATE_SIMULATE_FLAGS_H_
#define DTNN_APPS_SIMULATE_SIMULATE_FLAGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "apps/flags/options.h"
#include "apps/help/program_text.h"
#include "apps/rounds/round_flags.h"

namespace dtnn {

struct SimulateFlags {
  SimulateFlags() { run.data.validation_split = 0; }

  Options run;  // network, data and training of each client, encryption, files: as the launcher's
  RoundFlags rounds;
  int64_t clients = 100;
  int64_t clients_per_round = RoundFlags::kNotGiven;
  int64_t min_clients = 1;
  std::string split = "equal";           // data/loading/division/division.h
  std::string client_labels_file = {};   // a line per client; empty: they have none
  std::string client_seconds = "equal";  // federation::ParseClientSeconds
  double drop_out = 0;
  double liars = 0;  // the fraction of the clients that send another update
  double lie = -1;   // times what they have learnt
};

// All options, bound to `flags`.
std::vector<OptionSection> SectionsOf(SimulateFlags& flags);

// What is not given: 10 clients a round, or all; tests after each round, where there is a model for
// all clients.
void FollowClients(SimulateFlags& flags);

inline RoundSizes SizesOf(const SimulateFlags& flags) {
  if (flags.rounds.buffer_size > 0) return SizesOfBuffer(flags.rounds);
  return {.least = flags.min_clients,
          .expected = flags.clients_per_round,
          .most = flags.clients_per_round};
}

// Usage errors for flags that contradict each other.
absl::Status CheckSimulateFlags(const SimulateFlags& flags);

}  // namespace dtnn

#endif  // DTNN_APPS_SIMULATE_SIMULATE_FLAGS_H_
