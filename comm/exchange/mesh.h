// The ranks of a job, each connected to every other: what a transport makes, and what an engine
// takes.

#ifndef DTNN_COMM_EXCHANGE_MESH_H_
#define DTNN_COMM_EXCHANGE_MESH_H_

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "comm/communicator.h"
#include "comm/exchange/stream.h"

namespace dtnn {

struct Link {
  std::unique_ptr<Stream> stream;  // null: this rank's own
  std::string address;             // of the other end, for messages
};

// Refuses processes that come when all ranks are there. Of one thread, which polls for it.
class Door {
 public:
  using Clock = std::chrono::steady_clock;

  virtual ~Door() = default;

  // What poll is to watch, and until when at the latest.
  virtual void AddTo(std::vector<pollfd>& descriptors) const = 0;
  virtual Clock::time_point next() const = 0;
  // As far as it gets now. `polled`: what AddTo() has added, in that order, since the last call of
  // this, after poll. After an error it is of no more use.
  virtual absl::Status Turn(std::span<const pollfd> polled) = 0;
};

struct Mesh {
  RankPlace place;
  std::vector<int> nodes;      // each rank's host
  std::vector<Link> links;     // by rank
  std::unique_ptr<Door> door;  // null: nobody can come
};

// Fills in the place of `rank`, and the nodes: ranks with one network space (comm/network_space.h)
// are on one host.
void FindPlace(int rank, std::span<const uint64_t> network_spaces, Mesh& mesh);

}  // namespace dtnn

#endif  // DTNN_COMM_EXCHANGE_MESH_H_
