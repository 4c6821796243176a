// How the ranks of a job find each other through a third party (datagrams.h): each calls those
// below it until they answer.

#ifndef DTNN_COMM_TRANSPORT_RELAY_RELAY_MESH_H_
#define DTNN_COMM_TRANSPORT_RELAY_RELAY_MESH_H_

#include <memory>

#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "comm/secrets/crypto/job_secret.h"
#include "comm/transport/mesh.h"
#include "comm/transport/relay/datagrams.h"

namespace dtnn {

// Waits for all ranks as the options say. DeadlineExceeded or Unavailable where they do not come,
// InvalidArgument where another process has joined as this rank, or counts other ranks; besides the
// errors of Datagrams::Open. The streams together own the datagrams.
absl::StatusOr<Mesh> MeetThrough(std::unique_ptr<Datagrams> datagrams, int rank, int size,
                                 const JobSecret& secret, const CommunicatorOptions& patience);

}  // namespace dtnn

#endif  // DTNN_COMM_TRANSPORT_RELAY_RELAY_MESH_H_
