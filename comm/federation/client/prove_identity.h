// A client proves its name to the aggregator, and learns whether that is the right one, before it
// says anything else (../identity/identity.h).

#ifndef DTNN_COMM_FEDERATION_CLIENT_PROVE_IDENTITY_H_
#define DTNN_COMM_FEDERATION_CLIENT_PROVE_IDENTITY_H_

#include "absl/status/status.h"
#include "comm/federation/channel.h"
#include "comm/federation/client/call.h"

namespace dtnn::federation {

// Over a new connection. Nothing is said where options.identity has neither a key nor the
// aggregator's. FailedPrecondition where the aggregator refuses this client, or does not prove that
// it has the key that the client expects; errors of the connection also where the file of the key
// cannot be read now.
absl::Status ProveIdentity(const CallOptions& options, Channel& channel);

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_CLIENT_PROVE_IDENTITY_H_
