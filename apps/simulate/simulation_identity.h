// What a simulation that resumes is compared by, with a warning for each change: the data, all that
// a client does in a round, and what the aggregator makes of it. Strategy, protection, clients and
// seed must stay the same besides (apps/rounds/round_state.h).

#ifndef DTNN_APPS_SIMULATE_SIMULATION_IDENTITY_H_
#define DTNN_APPS_SIMULATE_SIMULATION_IDENTITY_H_

#include "absl/status/statusor.h"
#include "apps/simulate/simulate_flags.h"
#include "models/checkpoint/run_identity.h"
#include "models/run/prepare/prepared_run.h"

namespace dtnn {

// `run`: prepared. Empty without --checkpoint-dir. Reads the training samples once.
absl::StatusOr<RunIdentity> IdentityOf(const SimulateFlags& flags, const PreparedRun& run);

}  // namespace dtnn

#endif  // DTNN_APPS_SIMULATE_SIMULATION_IDENTITY_H_
