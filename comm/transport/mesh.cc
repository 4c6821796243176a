#include "comm/transport/mesh.h"

#include <algorithm>

namespace dtnn {

void FindPlace(int rank, std::span<const uint64_t> network_spaces, Mesh& mesh) {
  RankPlace& place = mesh.place;
  place = {.rank = rank, .size = int(network_spaces.size()), .node_size = 0};
  mesh.nodes.clear();
  const uint64_t mine = network_spaces[size_t(rank)];
  std::vector<uint64_t> hosts;  // in the order of their first ranks
  for (int other = 0; other < place.size; ++other) {
    const uint64_t space = network_spaces[size_t(other)];
    auto host = std::ranges::find(hosts, space);
    if (host == hosts.end()) host = hosts.insert(hosts.end(), space);
    mesh.nodes.push_back(int(host - hosts.begin()));
    if (space == mine && other < rank) ++place.node_rank;
    place.node_size += space == mine ? 1 : 0;
  }
  place.node = mesh.nodes[size_t(rank)];
}

}  // namespace dtnn
