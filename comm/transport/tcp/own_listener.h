// Where a rank that is not rank 0 listens for others: beside the connection by which it reaches
// the process that all ranks call, rank 0 or a coordinator, and tells it.
//
// A host's own name may mean 127.0.1.1 to itself. A rank on the same host as that process then
// reaches it by an address that others cannot call: they call the rank where they reach that
// process.

#ifndef DTNN_COMM_TRANSPORT_TCP_OWN_LISTENER_H_
#define DTNN_COMM_TRANSPORT_TCP_OWN_LISTENER_H_

#include "absl/status/statusor.h"
#include "comm/transport/tcp/socket.h"

namespace dtnn {

struct OwnListener {
  Socket socket;
  // For others to call; no host: the one at which they reach the process that all call.
  Endpoint endpoint;
};

// `connection`: to `called`. Listens at its address on this host; at all addresses where that is
// one of this host alone, and `called` is not. Errors: socket.h.
absl::StatusOr<OwnListener> ListenBeside(const Socket& connection, const Endpoint& called);

// Where to call a rank that said `told`, by one that reaches the process of all at `called`.
inline Endpoint EndpointFor(const Endpoint& told, const Endpoint& called) {
  return {.host = told.host.empty() ? called.host : told.host, .port = told.port};
}

}  // namespace dtnn

#endif  // DTNN_COMM_TRANSPORT_TCP_OWN_LISTENER_H_
