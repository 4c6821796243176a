// Streams to one process from as many others as come, through a third party (datagrams.h): for
// those who serve, and know neither how many will call nor who.
//
// Who serves is rank 0; each caller draws a number of its own for every call, and that is its rank.
// Of those who have called but not proved yet that they read the answer, 128 have a place, for ten
// seconds; comm/make_room.h says which one makes room.

#ifndef DTNN_COMM_RELAY_RELAY_DOOR_H_
#define DTNN_COMM_RELAY_RELAY_DOOR_H_

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "comm/crypto/job_secret.h"
#include "comm/exchange/mesh.h"
#include "comm/relay/datagrams.h"

namespace dtnn {

// The number of ranks that calls and answers name.
inline constexpr int kRanksOfDoor = 0x7fffffff;

class RelayDoor {
 public:
  // Errors of Datagrams::Open.
  static absl::StatusOr<std::unique_ptr<RelayDoor>> Open(std::unique_ptr<Datagrams> datagrams,
                                                         const JobSecret& secret,
                                                         const CommunicatorOptions& patience);

  // For poll: readable where Advance has news.
  int descriptor() const;
  // When to call it all the same.
  std::chrono::steady_clock::time_point next() const;
  // Those who have come since, with their streams. Unavailable once the third party is gone; all
  // streams are broken then, too.
  absl::StatusOr<std::vector<Link>> Advance();
  // The last one that was refused, and why; empty: nobody was.
  std::string refused() const;

 private:
  class Shared;
  explicit RelayDoor(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

  // Streams keep it too.
  const std::shared_ptr<Shared> shared_;
};

// The caller's side: waits for rank 0 as the options say. Errors of Datagrams::Open, and those of
// MeetThrough (relay_mesh.h).
absl::StatusOr<std::unique_ptr<Stream>> CallThrough(std::unique_ptr<Datagrams> datagrams,
                                                    const JobSecret& secret,
                                                    const CommunicatorOptions& patience);

}  // namespace dtnn

#endif  // DTNN_COMM_RELAY_RELAY_DOOR_H_
