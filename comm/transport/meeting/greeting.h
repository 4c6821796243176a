// A handshake over a stream, a few bytes at a time.

#ifndef DTNN_COMM_TRANSPORT_MEETING_GREETING_H_
#define DTNN_COMM_TRANSPORT_MEETING_GREETING_H_

#include <poll.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "comm/transport/meeting/handshake.h"
#include "comm/transport/stream.h"

namespace dtnn {

struct Greeting {
  std::unique_ptr<Stream> stream;
  Handshake handshake;
  std::string in = {}, out = {};
  // Whether an error is of the stream, which says what happened; that of the handshake says what is
  // wrong with the other side: "does not know this job's secret".
  bool broken = false;

  bool done() const { return handshake.done() && out.empty(); }
  short events() const {
    const bool more = !out.empty() && !stream->writes_after_reading();
    return short(POLLIN | (more || stream->wants_to_write() ? POLLOUT : 0));
  }
  // As far as it gets now. Sends the part of an error that the other side may know.
  absl::Status Advance();

 private:
  absl::Status Flush();
  absl::Status Break(const absl::Status& why);
};

}  // namespace dtnn

#endif  // DTNN_COMM_TRANSPORT_MEETING_GREETING_H_
