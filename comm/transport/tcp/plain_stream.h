// A TCP connection as it is: anyone on the path can read and change the bytes.

#ifndef DTNN_COMM_TRANSPORT_TCP_PLAIN_STREAM_H_
#define DTNN_COMM_TRANSPORT_TCP_PLAIN_STREAM_H_

#include <memory>

#include "comm/transport/stream.h"
#include "comm/transport/tcp/socket.h"

namespace dtnn {

std::unique_ptr<Stream> PlainStream(Socket socket);

}  // namespace dtnn

#endif  // DTNN_COMM_TRANSPORT_TCP_PLAIN_STREAM_H_
