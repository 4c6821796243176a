// How a client gets through to its aggregator, which may be away for a while.

#ifndef DTNN_COMM_FEDERATION_CLIENT_CALL_H_
#define DTNN_COMM_FEDERATION_CLIENT_CALL_H_

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/federation/channel.h"
#include "comm/federation/frame.h"
#include "comm/federation/meeting.h"
#include "comm/secrets/crypto/ed25519.h"
#include "comm/secrets/crypto/job_secret.h"
#include "comm/transport/mesh.h"

namespace dtnn::federation {

// By what a client and its aggregator prove who they are (prove_identity.h).
struct ClientIdentity {
  std::string name = {};      // that the client proves
  std::string key_file = {};  // its private key of Ed25519, read at every call; empty: it has none
  std::optional<Ed25519PublicKey> aggregator = {};  // another one is left; nothing: any will do
};

struct CallOptions {
  MeetingPlace place;
  ClientIdentity identity = {};
  std::chrono::milliseconds timeout{};  // so long it calls again
  // Told after a few seconds what this client waits for.
  std::function<void(std::string_view line)> warn = {};
  std::function<bool()> interrupted = {};

  // Cancelled where it was interrupted.
  absl::Status CheckInterrupt() const;
};

// Writes what the channel has to send, until `heard` says that the answer is there; Unavailable
// where it does not come within seconds, or within the timeout.
absl::Status AwaitAnswer(const CallOptions& options, Channel& channel,
                         absl::FunctionRef<absl::StatusOr<bool>()> heard);

// Whether the client is to come again by another connection: this one failed, or the aggregator has
// said so, which is Aborted.
bool IsOfConnection(const absl::Status& status);

// What a kRefusal says: FailedPrecondition, or Aborted where this client is to come again by
// another connection.
absl::Status RefusalOf(const Frame& frame);

// `talk` with the aggregator over new connections, until it returns OK or an error that is not of
// the connection, which is returned. Unavailable where the time is over before; it says what the
// aggregator has answered last, if it has, and what has happened since.
absl::Status CallUntilDone(const CallOptions& options, const JobSecret& secret,
                           const std::function<absl::Status(Link link)>& talk);

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_CLIENT_CALL_H_
