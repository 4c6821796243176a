// A client proves its name to the aggregator, and learns whether that is the right one, before it
// says anything else (../identity/identity.h).

#ifndef DTNN_COMM_FEDERATION_CLIENT_PROVE_IDENTITY_H_
#define DTNN_COMM_FEDERATION_CLIENT_PROVE_IDENTITY_H_

#include "absl/status/status.h"
#include "comm/federation/channel.h"
#include "comm/federation/client/call.h"

namespace dtnn::federation {

// Over a new connection. Nothing is said where options.identity has neither a key nor the
// aggregator's. FailedPrecondition where the aggregator refuses this client. Where the client
// expects an aggregator's key, whatever is said before the proof of it, a refusal too, is
// Aborted: another process may have answered, and the next call may reach the right one.
// Unavailable where the file of the key cannot be read now.
absl::Status ProveIdentity(const CallOptions& options, Channel& channel);

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_CLIENT_PROVE_IDENTITY_H_
