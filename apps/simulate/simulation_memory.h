// The memory that the rounds of a simulation take, besides what its threads train with.

#ifndef DTNN_APPS_SIMULATE_SIMULATION_MEMORY_H_
#define DTNN_APPS_SIMULATE_SIMULATION_MEMORY_H_

#include <cstddef>

#include "apps/simulate/simulate_flags.h"
#include "comm/federation/messages.h"

namespace dtnn {

// The updates of a round (comm/federation/simulation/simulation.h), the parameters, their sum and
// mean, what the strategy keeps, and the parameters that stay with each client that may be asked:
// `local_values` numbers of the network (models/run/federated/local_parameters.h).
double BytesOfRounds(const SimulateFlags& flags, const federation::ModelFacts& model,
                     size_t local_values, int threads);

}  // namespace dtnn

#endif  // DTNN_APPS_SIMULATE_SIMULATION_MEMORY_H_
