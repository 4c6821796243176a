// Where connections come in by TCP.

#ifndef DTNN_COMM_TRANSPORT_TCP_TCP_LISTENER_H_
#define DTNN_COMM_TRANSPORT_TCP_TCP_LISTENER_H_

#include <memory>

#include "comm/transport/meeting/listener.h"
#include "comm/transport/tcp/socket.h"
#include "comm/transport/tcp/stream_maker.h"

namespace dtnn {

// `socket` listens.
std::unique_ptr<Listener> TcpListener(Socket socket, StreamMaker stream);

}  // namespace dtnn

#endif  // DTNN_COMM_TRANSPORT_TCP_TCP_LISTENER_H_
