// What turns TCP connections into streams: as they are (plain_stream.h), or by TLS
// (comm/transport/tls).

#ifndef DTNN_COMM_TRANSPORT_TCP_STREAM_MAKER_H_
#define DTNN_COMM_TRANSPORT_TCP_STREAM_MAKER_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "comm/transport/stream.h"
#include "comm/transport/tcp/plain_stream.h"
#include "comm/transport/tcp/socket.h"

namespace dtnn {

// Makes a stream of a connection. `host`: of the other end, as it was called, where this process
// called; empty where it was called.
using StreamMaker =
    std::function<absl::StatusOr<std::unique_ptr<Stream>>(Socket socket, const std::string& host)>;

// PlainStream where there is no maker.
inline absl::StatusOr<std::unique_ptr<Stream>> MakeStream(const StreamMaker& maker, Socket socket,
                                                          const std::string& host) {
  return maker ? maker(std::move(socket), host) : PlainStream(std::move(socket));
}

}  // namespace dtnn

#endif  // DTNN_COMM_TRANSPORT_TCP_STREAM_MAKER_H_
