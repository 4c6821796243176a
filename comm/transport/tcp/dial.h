// Calls a door (comm/transport/meeting/door.h) by TCP.

#ifndef DTNN_COMM_TRANSPORT_TCP_DIAL_H_
#define DTNN_COMM_TRANSPORT_TCP_DIAL_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "comm/secrets/crypto/job_secret.h"
#include "comm/transport/mesh.h"
#include "comm/transport/tcp/socket.h"
#include "comm/transport/tcp/stream_maker.h"
#include "comm/wait.h"

namespace dtnn {

struct DialOptions {
  Endpoint address;         // of the door
  StreamMaker stream = {};  // nothing: PlainStream
  std::string purpose;      // of the door
  std::string who, door;    // for messages: "rank 1", "rank 0"
  // What this process says of itself, who may look at its end of the connection; nothing: nothing.
  std::function<absl::StatusOr<std::string>(const Socket& socket)> card = {};
};

// Calls, at one of its addresses after another, until the door is there and has recognised this
// process, as long as `wait` lasts. Its errors; InvalidArgument or PermissionDenied where the door
// refuses, ResourceExhausted where this host has no more files.
absl::StatusOr<Link> Dial(const DialOptions& options, const JobSecret& secret, Wait& wait);

}  // namespace dtnn

#endif  // DTNN_COMM_TRANSPORT_TCP_DIAL_H_
