#include "apps/scale_model/cluster.h"

#include <vector>

#include "comm/gather_values.h"
#include "comm/ranks/gradients/cost_model_measure.h"
#include "tensor/status_macros.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

// 10-Gbit Ethernet; shared memory.
constexpr LinkCost kAssumedNetwork = {25e-6, 1 / 1.25e9};
constexpr LinkCost kAssumedNode = {1e-6, 1 / 10e9};

// The first rank after 0 on the same host as 0, or on another; 0: there is none.
int Peer(const std::vector<int>& hosts, bool same) {
  for (size_t rank = 1; rank < hosts.size(); ++rank) {
    if ((hosts[rank] == hosts[0]) == same) return int(rank);
  }
  return 0;
}

struct LinkFlags {
  double lat, bw;  // seconds, bytes per second; 0: not given
};

absl::Status FindLink(const LinkFlags& flags, Communicator* communicator, int peer,
                      const LinkCost& assumed, LinkCost& link, std::string& source) {
  const bool given = flags.lat > 0 && flags.bw > 0;
  if (given) {
    source = "as given";
  } else if (communicator != nullptr && peer > 0) {
    DTNN_ASSIGN_OR_RETURN(link, MeasureLink(*communicator, 0, peer));
    source = StrCat("measured between ranks 0 and ", peer);
  } else {
    link = assumed;
    source = "assumed";
  }
  if (flags.lat > 0) link.latency = flags.lat;
  if (flags.bw > 0) link.seconds_per_byte = 1 / flags.bw;
  if (!given && flags.lat + flags.bw > 0) {
    source = StrCat(flags.lat > 0 ? "latency" : "bandwidth", " as given, the other ", source);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ScaleModelCluster> MeasureCluster(const ScaleModelOptions& options,
                                                 Communicator* communicator) {
  std::vector<int> hosts = {0};
  if (communicator != nullptr) {
    DTNN_ASSIGN_OR_RETURN(hosts, GatherValues(*communicator, communicator->place().node));
  }
  ScaleModelCluster found;
  found.placement = PlacementOf(hosts);
  Cluster& cluster = found.cluster;
  cluster.ranks = int64_t(hosts.size());
  cluster.ranks_per_node = found.placement.ranks_per_node;
  DTNN_RETURN_IF_ERROR(FindLink({options.network_lat, options.network_bw}, communicator,
                                Peer(hosts, /*same=*/false), kAssumedNetwork, cluster.network,
                                found.network_source));
  DTNN_RETURN_IF_ERROR(FindLink({options.node_lat, options.node_bw}, communicator,
                                Peer(hosts, /*same=*/true), kAssumedNode, cluster.node,
                                found.node_source));
  cluster.seconds_per_byte_added = MeasureAddition();
  if (communicator != nullptr) {
    DTNN_RETURN_IF_ERROR(TakeLargest(*communicator, {&cluster.seconds_per_byte_added, 1}));
  }
  return found;
}

}  // namespace dtnn
