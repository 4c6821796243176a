#include "comm/transport/relay/relay_mesh.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "comm/network_space.h"
#include "comm/patience.h"
#include "comm/transport/relay/relay_links.h"
#include "tensor/errors.h"

namespace dtnn {

absl::StatusOr<Mesh> MeetThrough(std::unique_ptr<Datagrams> datagrams, int rank, int size,
                                 const JobSecret& secret, const CommunicatorOptions& patience) {
  Mesh mesh;
  mesh.links.resize(size_t(size));
  std::vector<uint64_t> spaces(size_t(size), NetworkSpace());
  if (size > 1) {
    RelayLink::Card card = {.instance = {.rank = rank}, .network_space = NetworkSpace()};
    DTNN_ASSIGN_OR_RETURN(card.instance.number, datagrams->DrawNumber());
    std::vector<int> peers;
    for (int peer = 0; peer < size; ++peer) {
      if (peer != rank) peers.push_back(peer);
    }
    const auto links =
        std::make_shared<RelayLinks>(std::move(datagrams), card, size, peers, secret);
    const auto whom = [](const std::vector<int>& missing) {
      return StrCat(RankList(missing), " to join");
    };
    DTNN_RETURN_IF_ERROR(links->Meet(StrCat("rank ", rank), whom, patience));
    for (const int peer : peers) {
      mesh.links[size_t(peer)] = {RelayLinks::StreamTo(peer, links), links->name()};
      spaces[size_t(peer)] = links->link(peer).card().network_space;
    }
  }
  FindPlace(rank, spaces, mesh);
  return mesh;
}

}  // namespace dtnn
