// How an aggregator and its clients reach each other: over TCP, or through what carries datagrams
// (comm/relay: gRPC, MQTT). Either way both have proved to know the job's secret when they get a
// stream.

#ifndef DTNN_COMM_FEDERATION_MEETING_H_
#define DTNN_COMM_FEDERATION_MEETING_H_

#include <poll.h>

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "comm/crypto/job_secret.h"
#include "comm/exchange/mesh.h"
#include "comm/exchange/stream.h"
#include "comm/relay/datagrams.h"
#include "comm/tcp/greeting.h"
#include "comm/tcp/socket.h"

namespace dtnn::federation {

struct MeetingPlace {
  Endpoint address;         // of the aggregator, or of what carries datagrams
  int listener = -1;        // TCP, aggregator: a socket that listens there already, taken over
  StreamMaker stream = {};  // TCP: nothing: without TLS
  // Nothing: TCP. Rank 0 is the aggregator.
  std::function<absl::StatusOr<std::unique_ptr<Datagrams>>(const JobSecret& secret)> datagrams = {};
};

// The aggregator's side. Of one thread, which polls for it.
class Entrance {
 public:
  using Clock = std::chrono::steady_clock;

  virtual ~Entrance() = default;
  // What poll is to watch, and until when at the latest.
  virtual void AddTo(std::vector<pollfd>& descriptors) const = 0;
  virtual Clock::time_point next() const = 0;
  // Those who have come since. `polled`: what AddTo() has added, after poll. After an error it is
  // of no more use.
  virtual absl::StatusOr<std::vector<Link>> Advance(std::span<const pollfd> polled) = 0;
  // The last thing that went wrong, in words for people; empty: nothing.
  virtual std::string trouble() const = 0;
};

// Waits `timeout` for what carries datagrams; one that is gone later is called again for as long as
// it takes. The secret is the job's.
absl::StatusOr<std::unique_ptr<Entrance>> OpenEntrance(const MeetingPlace& place,
                                                       const JobSecret& secret,
                                                       std::chrono::milliseconds timeout,
                                                       const std::function<bool()>& interrupted);

// The client's side, until `end`: Unavailable where nobody answers, PermissionDenied and
// InvalidArgument where somebody refuses, Cancelled where it was interrupted.
absl::StatusOr<Link> CallAggregator(const MeetingPlace& place, const JobSecret& secret,
                                    std::chrono::steady_clock::time_point end,
                                    const std::function<bool()>& interrupted);

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_MEETING_H_
