#include "comm/transport/tcp/own_listener.h"

#include <utility>

#include "tensor/status_macros.h"

namespace dtnn {

absl::StatusOr<OwnListener> ListenBeside(const Socket& connection, const Endpoint& called) {
  DTNN_ASSIGN_OR_RETURN(Endpoint mine, connection.Local());
  if (IsLoopback(mine.host) && !IsLoopback(called.host)) mine.host = "";
  DTNN_ASSIGN_OR_RETURN(Socket socket, Listen({.host = mine.host, .port = 0}));
  DTNN_ASSIGN_OR_RETURN(const Endpoint there, socket.Local());
  mine.port = there.port;
  return OwnListener{std::move(socket), std::move(mine)};
}

}  // namespace dtnn
