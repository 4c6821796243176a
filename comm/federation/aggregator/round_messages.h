// What the clients of a round are sent, and all clients after the last one.

#ifndef DTNN_COMM_FEDERATION_AGGREGATOR_ROUND_MESSAGES_H_
#define DTNN_COMM_FEDERATION_AGGREGATOR_ROUND_MESSAGES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/federation/aggregator/aggregator_options.h"
#include "comm/federation/aggregator/federation_state.h"
#include "comm/federation/aggregator/roster/roster.h"
#include "comm/federation/messages.h"
#include "comm/federation/protocol.h"

namespace dtnn::federation {

// The chunks of the parameters, which the messages to all clients share; with `control`, of the
// control variate too.
absl::StatusOr<std::vector<SharedBytes>> ParameterBodies(const FederationState& state,
                                                         size_t trainable = 0,
                                                         bool control = false);

// `attempt`: whose frames these are; 0: the final parameters.
void SendRound(Member& member, uint64_t attempt, const RoundStart& start,
               const std::vector<SharedBytes>& bodies);

// Gives all clients that are there, or come, the final parameters, of so many rounds, for as long
// as some of them take bytes; clients that still train get the deadline to fetch them. Where none
// is there, it waits some seconds for those that come. The deadline and half a minute are the most.
absl::Status SendTheEnd(const AggregatorOptions& options, int64_t rounds,
                        const FederationState& state, Roster& roster);

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_AGGREGATOR_ROUND_MESSAGES_H_
