#include "apps/scale_model/cluster.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "comm/cost_model_measure.h"
#include "comm/gather_values.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

constexpr double kMicrosecond = 1e-6;
// Seconds per byte of a link of one Gbit/s.
constexpr double kGbit = 8e-9;

// 10-Gbit Ethernet; shared memory.
constexpr LinkCost kAssumedNetwork = {25 * kMicrosecond, kGbit / 10};
constexpr LinkCost kAssumedNode = {1 * kMicrosecond, kGbit / 80};

absl::StatusOr<std::vector<int>> Hosts(Communicator& communicator) {
  char name[256] = {};
  gethostname(name, sizeof(name) - 1);
  const int64_t mine[] = {communicator.node_rank(), communicator.node_size(),
                          int64_t(std::hash<std::string>()(name))};
  DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> all, GatherValues<int64_t>(communicator, mine));
  std::vector<HostView> views;
  for (size_t i = 0; i < all.size(); i += 3) views.push_back({all[i], all[i + 1], all[i + 2]});
  return HostsOfRanks(views);
}

// The first rank after 0 on the same host as 0, or on another; 0: there is none.
int Peer(const std::vector<int>& hosts, bool same) {
  for (size_t rank = 1; rank < hosts.size(); ++rank) {
    if ((hosts[rank] == hosts[0]) == same) return int(rank);
  }
  return 0;
}

struct LinkFlags {
  double latency_us, bandwidth_gbit;
};

absl::Status FindLink(const LinkFlags& flags, Communicator* communicator, int peer,
                      const LinkCost& assumed, LinkCost& link, std::string& source) {
  const bool given = flags.latency_us > 0 && flags.bandwidth_gbit > 0;
  if (given) {
    source = "as given";
  } else if (communicator != nullptr && peer > 0) {
    DTNN_ASSIGN_OR_RETURN(link, MeasureLink(*communicator, 0, peer));
    source = absl::StrCat("measured between ranks 0 and ", peer);
  } else {
    link = assumed;
    source = "assumed";
  }
  if (flags.latency_us > 0) link.latency = flags.latency_us * kMicrosecond;
  if (flags.bandwidth_gbit > 0) link.seconds_per_byte = kGbit / flags.bandwidth_gbit;
  if (!given && flags.latency_us + flags.bandwidth_gbit > 0) {
    source = absl::StrCat(flags.latency_us > 0 ? "latency" : "bandwidth", " as given, the rest ",
                          source);
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<int> HostsOfRanks(std::span<const HostView> ranks) {
  struct Host {
    HostView first;
    int64_t ranks = 0;  // found so far
  };
  std::vector<Host> hosts;
  std::vector<int> of_ranks;
  for (const HostView& rank : ranks) {
    // The next of which host could it be?
    const auto next_of = [&](const Host& host, bool named) {
      return host.ranks == rank.node_rank && host.first.node_size == rank.node_size &&
             (!named || host.first.name == rank.name);
    };
    auto host = hosts.end();
    for (const bool named : {true, false}) {
      if (rank.node_rank == 0 || host != hosts.end()) continue;
      host = std::ranges::find_if(hosts, [&](const Host& other) { return next_of(other, named); });
    }
    if (host == hosts.end()) host = hosts.insert(host, {.first = rank});
    ++host->ranks;
    of_ranks.push_back(int(host - hosts.begin()));
  }
  return of_ranks;
}

absl::StatusOr<ScaleModelCluster> MeasureCluster(const ScaleModelOptions& options,
                                                 Communicator* communicator) {
  std::vector<int> hosts = {0};
  if (communicator != nullptr) {
    DTNN_ASSIGN_OR_RETURN(hosts, Hosts(*communicator));
  }
  ScaleModelCluster found;
  Cluster& cluster = found.cluster;
  cluster.ranks = int64_t(hosts.size());
  cluster.ranks_per_node = std::count(hosts.begin(), hosts.end(), hosts[0]);
  DTNN_RETURN_IF_ERROR(FindLink({options.latency_us, options.bandwidth_gbit}, communicator,
                                Peer(hosts, /*same=*/false), kAssumedNetwork, cluster.network,
                                found.network_source));
  DTNN_RETURN_IF_ERROR(FindLink({options.node_latency_us, options.node_bandwidth_gbit},
                                communicator, Peer(hosts, /*same=*/true), kAssumedNode,
                                cluster.node, found.node_source));
  cluster.seconds_per_byte_added = MeasureAddition();
  if (communicator != nullptr) {
    DTNN_RETURN_IF_ERROR(TakeLargest(*communicator, {&cluster.seconds_per_byte_added, 1}));
  }
  return found;
}

}  // namespace dtnn
