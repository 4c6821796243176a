// How the ranks of a job find each other: rank 0 listens at an address that all know; the others
// call its door (comm/transport/meeting/door.h) and say where they listen themselves; rank 0 tells
// everybody; then every rank calls those below it.
//
// A rank has to prove that it knows the job's secret. Other processes may delay the ranks, but
// those that call from a few addresses cannot keep them from meeting.

#ifndef DTNN_COMM_TRANSPORT_TCP_RENDEZVOUS_H_
#define DTNN_COMM_TRANSPORT_TCP_RENDEZVOUS_H_

#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "comm/secrets/crypto/job_secret.h"
#include "comm/transport/mesh.h"
#include "comm/transport/tcp/socket.h"
#include "comm/transport/tcp/stream_maker.h"

namespace dtnn {

struct RendezvousOptions {
  int rank = 0, size = 1;
  Endpoint address;         // of rank 0
  int listener = -1;        // of rank 0: a socket that listens there already, which it takes over
  StreamMaker stream = {};  // nothing: PlainStream
  // With other ranks of its host that ask for it too. Where the system does not let two of them,
  // they keep the stream that they have, and the lower one warns.
  bool share_memory = false;
};

// Waits for all ranks as the options say. Rank 0's door stays open: a process that comes when all
// are there is refused with the reason. DeadlineExceeded or Unavailable where they do not come,
// InvalidArgument or PermissionDenied where another job is at that address.
absl::StatusOr<Mesh> Meet(const RendezvousOptions& options, const JobSecret& secret,
                          const CommunicatorOptions& patience);

}  // namespace dtnn

#endif  // DTNN_COMM_TRANSPORT_TCP_RENDEZVOUS_H_
