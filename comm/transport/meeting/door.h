// Where processes of a job are called: by ranks, by members of an elastic job, by clients of a
// federation. A door hands out the callers that have proved to know the job's secret, and refuses
// all others. What a door is for is part of the proof: a caller that looks for another one is
// refused with the reason.
//
//   purpose                             called by
//   "rank 0 of 4"                       the ranks above it (comm/transport/tcp/rendezvous.h)
//   "the coordinator of elastic ranks"  each rank that comes (comm/ranks/elastic)
//   "the aggregator of a federation"    each client (comm/federation)
//
// Over connections: stream_door.h. Through a third party that carries datagrams:
// comm/transport/relay/relay_door.h. The other end: comm/transport/tcp/dial.h, CallThrough of
// relay_door.h.

#ifndef DTNN_COMM_TRANSPORT_MEETING_DOOR_H_
#define DTNN_COMM_TRANSPORT_MEETING_DOOR_H_

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "comm/transport/polled.h"
#include "comm/transport/stream.h"

namespace dtnn {

struct Caller {
  std::unique_ptr<Stream> stream;
  std::string address;    // of the other end, for messages
  std::string card = {};  // what it says of itself (handshake.h); empty: nothing
};

class Door : public Polled {
 public:
  // The same as Turn, with the callers that have been recognised since the last call. `now` never
  // goes back. Descriptors that it leaves for later are reported by poll again.
  virtual absl::StatusOr<std::vector<Caller>> Advance(std::span<const pollfd> polled,
                                                      Clock::time_point now) = 0;
  absl::Status Turn(std::span<const pollfd> polled) override {
    return Advance(polled, Clock::now()).status();
  }
  // The last caller that was refused, and why; empty: none was.
  virtual std::string refused() const = 0;
};

}  // namespace dtnn

#endif  // DTNN_COMM_TRANSPORT_MEETING_DOOR_H_
