// How long simulated clients take for a round: seconds of a simulated clock, not of this machine.

#ifndef DTNN_COMM_FEDERATION_SIMULATION_CLIENT_SECONDS_H_
#define DTNN_COMM_FEDERATION_SIMULATION_CLIENT_SECONDS_H_

#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "comm/federation/simulation/simulation_seed.h"

namespace dtnn::federation {

// Each client has a time of its own, which is the same in all rounds: exp(spread z), with z from
// the standard normal distribution, so that half of them take less than a second.
struct ClientSeconds {
  double spread = 0;  // 0: all take one second
};

// "equal", or "lognormal:SPREAD" with a spread from 0 to 10. InvalidArgument, which says what is
// expected, for other texts.
absl::StatusOr<ClientSeconds> ParseClientSeconds(std::string_view text);

// A function of the seed and of the client.
absl::StatusOr<double> SecondsOf(const ClientSeconds& seconds, const SimulationSeed& seed,
                                 int client);

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_SIMULATION_CLIENT_SECONDS_H_
