// Where connections come in: a socket, or what a test makes.

#ifndef DTNN_COMM_TRANSPORT_MEETING_LISTENER_H_
#define DTNN_COMM_TRANSPORT_MEETING_LISTENER_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "comm/transport/stream.h"

namespace dtnn {

struct Arrival {
  std::unique_ptr<Stream> stream;
  std::string host;     // from which it calls
  std::string address;  // the same with the port, for messages
};

class Listener {
 public:
  virtual ~Listener() = default;

  // For poll: readable where a connection has come.
  virtual int descriptor() const = 0;
  // The next connection; nothing: there is none now. An error is of the listener.
  virtual absl::StatusOr<std::optional<Arrival>> Accept() = 0;
};

}  // namespace dtnn

#endif  // DTNN_COMM_TRANSPORT_MEETING_LISTENER_H_
