#include "apps/simulate/simulation_memory.h"

#include <algorithm>
#include <cstdint>

#include "apps/rounds/round_flags.h"

namespace dtnn {

double BytesOfRounds(const SimulateFlags& flags, const federation::ModelFacts& model,
                     size_t local_values, int threads) {
  const federation::Compression compression = CompressionOf(flags.rounds);
  const bool changes = flags.run.federation.dp_clip > 0 || flags.liars > 0 || compression.on();
  const int64_t buffer = flags.rounds.buffer_size;
  const int64_t of_round = buffer > 0 ? buffer : flags.clients_per_round;
  int64_t kept = flags.rounds.robust.empty() ? 0 : of_round;
  // Parameters of earlier rounds, from which clients have still to train; and what no update
  // changes, for a mean or a norm.
  if (buffer > 0) kept += std::min(flags.clients_per_round, flags.rounds.max_staleness + 1) + 1;
  // The parameters of the state and of the round, and the mean; a sum of 16 bytes per number, or of
  // integers beside an update of them.
  constexpr int kOfServer = 3 + 4;
  const double asked = std::min(double(flags.clients),
                                double(flags.rounds.rounds) * double(flags.clients_per_round));
  const federation::StrategyOptions strategy = StrategyOf(flags.rounds);
  // What a client sends is beside the network where it is not the network's numbers alone.
  const bool copied = local_values > 0 || strategy.controls() || compression.owes();
  const int of_thread = (changes ? 4 : 2) + (copied ? 1 : 0);
  const double exchanged = double(of_thread * threads + kept + kOfServer);
  const double control = strategy.controls() ? double(model.trainable) : 0;  // sent, and kept
  const double owed = compression.owes() ? double(model.trainable) : 0;      // kept
  // Before and after a round, and what is written.
  const int copies = flags.run.checkpoint.folder.empty() ? 2 : 3;
  return sizeof(float) * (exchanged * (double(model.values) + control) +
                          strategy.moments() * double(model.trainable) +
                          (copies * asked + 1) * (double(local_values) + control + owed));
}

}  // namespace dtnn
