// A door for connections: the processes that connect to a listener, until each has proved to know
// the job's secret, or has been refused with the reason.
//
// A caller gets a few seconds and one of a few places (waiting_room.h). A turn hears at most 8 of
// the callers from which something has come: first those whose proof is all that is missing, then
// those that have not been heard for longest, so that no caller waits for those that came after it.
// Each gets less than 600 bytes of memory here; with TLS also what a handshake takes, which is at
// most 200 KiB (comm/transport/tls/tls_stream.h).

#ifndef DTNN_COMM_TRANSPORT_MEETING_STREAM_DOOR_H_
#define DTNN_COMM_TRANSPORT_MEETING_STREAM_DOOR_H_

#include <poll.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/secrets/crypto/job_secret.h"
#include "comm/transport/meeting/door.h"
#include "comm/transport/meeting/greeting.h"
#include "comm/transport/meeting/listener.h"
#include "comm/transport/meeting/waiting_room.h"

namespace dtnn {

class StreamDoor : public Door {
 public:
  // Whether a caller that shows this card may come in, beside those that were admitted and are not
  // handed out yet; it receives an error's message. Nothing: all may.
  using Admit =
      std::function<absl::Status(std::string_view card, std::span<const std::string> others)>;

  StreamDoor(const JobSecret& secret, std::string purpose, std::unique_ptr<Listener> listener,
             Admit admit = nullptr, uint64_t seed = std::random_device()());
  StreamDoor(const StreamDoor&) = delete;
  StreamDoor& operator=(const StreamDoor&) = delete;

  void AddTo(std::vector<pollfd>& descriptors) const override;
  Clock::time_point next() const override { return room_.next(); }
  absl::StatusOr<std::vector<Caller>> Advance(std::span<const pollfd> polled,
                                              Clock::time_point now) override;
  std::string refused() const override { return refused_; }

 private:
  struct Pending {
    Greeting greeting;
    std::string address;
    uint64_t turn = 0;  // in which it was heard last, or came
    // Only what it still sends is read: a connection that is closed with bytes unread may take the
    // reason of the refusal with it.
    bool refused = false;
  };
  using Place = WaitingRoom<Pending>::Place;

  void Refuse(Place& place, const absl::Status& why, Clock::time_point now);
  // Whether its connection is to be closed, or has been taken over as that of a caller.
  bool Hear(Place& place, Clock::time_point now);
  absl::Status Judge(std::string_view card) const;
  absl::Status AcceptSome(Clock::time_point now);

  const JobSecret secret_;
  const std::string purpose_;
  const std::unique_ptr<Listener> listener_;
  const Admit admit_;
  WaitingRoom<Pending> room_;
  std::vector<Caller> arrived_;  // in this turn, or before one whose listener failed
  uint64_t turn_ = 0;
  std::string refused_;
};

}  // namespace dtnn

#endif  // DTNN_COMM_TRANSPORT_MEETING_STREAM_DOOR_H_
