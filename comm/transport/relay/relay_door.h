// A door (comm/transport/meeting/door.h) that is called through a third party (datagrams.h): a
// process that serves, and knows neither how many will call nor which.
//
// It is rank 0; each caller draws a number of its own for every call, and that is its rank. Those
// that have called but not proved yet that they read the answer have one of a few places
// (comm/transport/meeting/waiting_room.h). The purpose of the door is that of the secret
// (JobSecret::For): callers show no cards.

#ifndef DTNN_COMM_TRANSPORT_RELAY_RELAY_DOOR_H_
#define DTNN_COMM_TRANSPORT_RELAY_RELAY_DOOR_H_

#include <poll.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "comm/secrets/crypto/job_secret.h"
#include "comm/transport/meeting/door.h"
#include "comm/transport/relay/datagrams.h"
#include "comm/transport/stream.h"

namespace dtnn {

// The number of ranks that calls and answers name.
inline constexpr int kRanksOfDoor = 0x7fffffff;

class RelayDoor : public Door {
 public:
  // Errors of Datagrams::Open.
  static absl::StatusOr<std::unique_ptr<RelayDoor>> Open(std::unique_ptr<Datagrams> datagrams,
                                                         const JobSecret& secret,
                                                         const CommunicatorOptions& patience);

  void AddTo(std::vector<pollfd>& descriptors) const override;
  Clock::time_point next() const override;
  // Unavailable once the third party is gone; all streams are broken then, too.
  absl::StatusOr<std::vector<Caller>> Advance(std::span<const pollfd> polled,
                                              Clock::time_point now) override;
  std::string refused() const override;

 private:
  class Shared;
  explicit RelayDoor(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

  // Streams keep it too.
  const std::shared_ptr<Shared> shared_;
};

// The caller's side: waits for rank 0 as the options say. Errors of Datagrams::Open, and those of
// MeetThrough (relay_mesh.h). Unavailable after a while where rank 0 is not there any more that has
// answered: it is to be called anew.
absl::StatusOr<std::unique_ptr<Stream>> CallThrough(std::unique_ptr<Datagrams> datagrams,
                                                    const JobSecret& secret,
                                                    const CommunicatorOptions& patience);

}  // namespace dtnn

#endif  // DTNN_COMM_TRANSPORT_RELAY_RELAY_DOOR_H_
