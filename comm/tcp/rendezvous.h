// How the ranks of a job find each other: rank 0 listens at an address that all know; the others
// connect to it and say where they listen themselves; rank 0 tells everybody; then every rank
// connects to those below it.
//
// Who connects has to prove that he knows the job's secret (handshake.h). Strangers may delay the
// ranks, but those that call from a few addresses cannot keep them from meeting (reception.h).

#ifndef DTNN_COMM_TCP_RENDEZVOUS_H_
#define DTNN_COMM_TCP_RENDEZVOUS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "comm/tcp/greeting.h"
#include "comm/tcp/job_secret.h"
#include "comm/tcp/reception.h"
#include "comm/tcp/socket.h"
#include "comm/tcp/stream.h"

namespace dtnn {

struct RendezvousOptions {
  int rank = 0, size = 1;
  Endpoint address;         // of rank 0
  int listener = -1;        // of rank 0: a socket that listens there already, which it takes over
  StreamMaker stream = {};  // nothing: PlainStream
};

struct Link {
  std::unique_ptr<Stream> stream;  // null: this rank's own
  std::string address;             // of the other end, for messages
};

struct Mesh {
  RankPlace place;
  std::vector<int> nodes;   // each rank's host
  std::vector<Link> links;  // by rank
  // Of rank 0: refuses who comes later. Null: of the others, and of a job of one.
  std::unique_ptr<Reception> reception;
};

// Waits for all ranks as the options say. DeadlineExceeded or Unavailable where they do not come,
// InvalidArgument or PermissionDenied where another job is at that address.
absl::StatusOr<Mesh> Meet(const RendezvousOptions& options, const JobSecret& secret,
                          const CommunicatorOptions& patience);

}  // namespace dtnn

#endif  // DTNN_COMM_TCP_RENDEZVOUS_H_
