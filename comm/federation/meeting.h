// Where an aggregator and its clients meet: the door of the aggregator
// (comm/transport/meeting/door.h), and the call of a client, over TCP or through what carries
// datagrams (comm/transport/relay: gRPC, MQTT).

#ifndef DTNN_COMM_FEDERATION_MEETING_H_
#define DTNN_COMM_FEDERATION_MEETING_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "comm/secrets/crypto/job_secret.h"
#include "comm/transport/meeting/door.h"
#include "comm/transport/mesh.h"
#include "comm/transport/relay/datagrams.h"
#include "comm/transport/tcp/socket.h"
#include "comm/transport/tcp/stream_maker.h"
#include "comm/wait.h"

namespace dtnn::federation {

struct MeetingPlace {
  Endpoint address;         // of the aggregator, or of what carries datagrams
  int listener = -1;        // TCP, aggregator: a socket that listens there already, taken over
  StreamMaker stream = {};  // TCP: nothing: without TLS
  // Nothing: TCP. Rank 0 is the aggregator.
  std::function<absl::StatusOr<std::unique_ptr<Datagrams>>(const JobSecret& secret)> datagrams = {};
};

// The secret is the job's. Waits as `patience` says for what carries datagrams; one that is gone
// later is called again for as long as it takes, which `warn` reports.
absl::StatusOr<std::unique_ptr<Door>> OpenDoor(const MeetingPlace& place, const JobSecret& secret,
                                               const CommunicatorOptions& patience);

// The client's side. The errors of Dial (comm/transport/tcp/dial.h) and of CallThrough
// (comm/transport/relay/relay_door.h).
absl::StatusOr<Link> CallAggregator(const MeetingPlace& place, const JobSecret& secret, Wait& wait);

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_MEETING_H_
