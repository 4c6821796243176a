// The ranks of a job, each connected to every other: what a transport makes, and what an engine
// takes.

#ifndef DTNN_COMM_TRANSPORT_MESH_H_
#define DTNN_COMM_TRANSPORT_MESH_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "comm/transport/polled.h"
#include "comm/transport/stream.h"

namespace dtnn {

struct Link {
  std::unique_ptr<Stream> stream;  // null: this rank's own
  std::string address;             // of the other end, for messages
};

struct Mesh {
  RankPlace place;
  std::vector<int> nodes;   // each rank's host
  std::vector<Link> links;  // by rank
  // Refuses processes that come when all ranks are there; null: none can come.
  std::unique_ptr<Polled> door;
};

// Fills in the place of `rank`, and the nodes: ranks with one network space (comm/network_space.h)
// are on one host.
void FindPlace(int rank, std::span<const uint64_t> network_spaces, Mesh& mesh);

}  // namespace dtnn

#endif  // DTNN_COMM_TRANSPORT_MESH_H_
