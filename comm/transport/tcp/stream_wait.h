// Messages whose sizes are known, over streams that never block: waits until all of one is moved.

#ifndef DTNN_COMM_TRANSPORT_TCP_STREAM_WAIT_H_
#define DTNN_COMM_TRANSPORT_TCP_STREAM_WAIT_H_

#include <poll.h>

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "comm/communicator.h"
#include "comm/transport/stream.h"
#include "comm/wait.h"

namespace dtnn {

class StreamWait {
 public:
  // `who` waits, as the options say. `refused`: the last caller of its door that was refused;
  // empty: none was.
  StreamWait(const CommunicatorOptions& options, std::string who,
             std::function<std::string()> refused)
      : wait_(options), who_(std::move(who)), refused_(std::move(refused)) {}

  Wait& wait() { return wait_; }
  // All of it. `what` is waited for, for messages. Errors: of the stream, and comm/wait.h.
  absl::Status Write(Stream& stream, std::string_view bytes, const std::string& what);
  absl::Status Read(Stream& stream, std::span<std::byte> bytes, const std::string& what);
  // Until something happens to the descriptors, or `until`.
  absl::Status Poll(std::span<pollfd> descriptors, Wait::Clock::time_point until,
                    const std::string& what);

 private:
  Wait wait_;
  const std::string who_;
  const std::function<std::string()> refused_;
};

}  // namespace dtnn

#endif  // DTNN_COMM_TRANSPORT_TCP_STREAM_WAIT_H_
