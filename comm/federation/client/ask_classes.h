// A client asks for the classes of the aggregator's network before it builds its own. A client
// whose own data lack some of them could not build the same one.

#ifndef DTNN_COMM_FEDERATION_CLIENT_ASK_CLASSES_H_
#define DTNN_COMM_FEDERATION_CLIENT_ASK_CLASSES_H_

#include "absl/status/statusor.h"
#include "comm/federation/client/call.h"
#include "comm/federation/messages.h"
#include "comm/secrets/crypto/job_secret.h"

namespace dtnn::federation {

// Over a connection of its own, which then ends. Unavailable where the aggregator could not be
// reached, FailedPrecondition where it has another version, Cancelled where this was interrupted.
absl::StatusOr<Classes> AskClasses(const CallOptions& options, const JobSecret& secret);

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_CLIENT_ASK_CLASSES_H_
