// A handshake over a stream, a few bytes at a time.

#ifndef DTNN_COMM_TCP_GREETING_H_
#define DTNN_COMM_TCP_GREETING_H_

#include <poll.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/exchange/stream.h"
#include "comm/tcp/handshake.h"
#include "comm/tcp/socket.h"

namespace dtnn {

// Makes a stream of a connection. `host`: of the other end, as it was called, where this rank
// called; empty where it was called.
using StreamMaker =
    std::function<absl::StatusOr<std::unique_ptr<Stream>>(Socket socket, const std::string& host)>;

// PlainStream where there is no maker.
absl::StatusOr<std::unique_ptr<Stream>> MakeStream(const StreamMaker& maker, Socket socket,
                                                   const std::string& host);

struct Greeting {
  std::unique_ptr<Stream> stream;
  std::string address;  // of the other end
  Handshake handshake;
  std::chrono::steady_clock::time_point end;  // it may take so long
  std::string in = {}, out = {};
  // Whether an error is of the stream, which says what happened; that of the handshake says what is
  // wrong with the other side: "does not know this job's secret".
  bool broken = false;

  bool done() const { return handshake.done() && out.empty(); }
  short events() const {
    const bool more = !out.empty() && !stream->writes_after_reading();
    return short(POLLIN | (more || stream->wants_to_write() ? POLLOUT : 0));
  }
  // As far as it gets now. What the other side may be told of an error is sent.
  absl::Status Advance();

 private:
  absl::Status Flush();
  absl::Status Break(const absl::Status& why);
};

}  // namespace dtnn

#endif  // DTNN_COMM_TCP_GREETING_H_
