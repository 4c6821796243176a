#include "comm/ranks/gradients/cost_model.h"

#include <algorithm>
#include <bit>
#include <cassert>

#include "tensor/rounding.h"

namespace dtnn {
namespace {

// `sharing` messages at a time.
LinkCost Shared(const LinkCost& link, int64_t sharing) {
  return {link.latency, link.seconds_per_byte * double(sharing)};
}

// Messages one after the other, each of a share of the bytes.
void Add(LinkCost& cost, double messages, const LinkCost& link, double share) {
  cost.latency += messages * link.latency;
  cost.seconds_per_byte += messages * share * link.seconds_per_byte;
}

LinkCost Ring(int64_t ranks, const LinkCost& link, double added) {
  const double steps = double(ranks - 1), share = 1 / double(ranks);
  LinkCost cost = {.seconds_per_byte = steps * share * added};
  Add(cost, 2 * steps, link, share);
  return cost;
}

// How many messages leave the busiest node when every one of `power` ranks, a power of two, has a
// message for the rank that `distance` before or after it. The `folded` first stand for two ranks.
int64_t LeavingANode(int64_t power, int64_t folded, int64_t distance, int64_t per_node) {
  const auto node = [&](int64_t rank) {
    return (rank < folded ? 2 * rank : rank + folded) / per_node;
  };
  int64_t most = 0, count = 0;
  for (int64_t rank = 0; rank < power; ++rank) {
    if (rank == 0 || node(rank) != node(rank - 1)) count = 0;
    if (node(rank) != node(rank ^ distance)) most = std::max(most, ++count);
  }
  return most;
}

LinkCost HalvingDoubling(const Cluster& cluster) {
  const double added = cluster.seconds_per_byte_added;
  const auto link = [&](int64_t leaving) {
    return leaving > 0 ? Shared(cluster.network, leaving) : cluster.node;
  };
  const int64_t power = int64_t(std::bit_floor(uint64_t(cluster.ranks)));
  const int64_t folded = cluster.ranks - power;
  LinkCost cost;
  if (folded > 0) {
    // Pairs of an even rank and the next: where nodes have an odd number, the middle one of two
    // nodes crosses.
    const bool crosses = cluster.ranks_per_node % 2 != 0 && cluster.ranks_per_node < 2 * folded;
    Add(cost, 2, link(crosses ? 1 : 0), 0.5);
    Add(cost, 1, link(crosses ? 1 : 0), 1);
    cost.seconds_per_byte += 0.5 * added;
  }
  double share = 1;
  for (int64_t distance = 1; distance < power; distance *= 2) {
    share /= 2;
    Add(cost, 2, link(LeavingANode(power, folded, distance, cluster.ranks_per_node)), share);
    cost.seconds_per_byte += share * added;
  }
  return cost;
}

LinkCost Hierarchical(int64_t nodes, int64_t per_node, const Cluster& cluster) {
  Cluster here = cluster, across = cluster;
  here.ranks = here.ranks_per_node = per_node;
  across.ranks = nodes;
  across.ranks_per_node = 1;
  across.network = Shared(cluster.network, per_node);
  const double slice = 1 / double(per_node);
  LinkCost cost = HalvingDoubling(here);
  Add(cost, 1, HalvingDoubling(across), slice);
  Add(cost, double(per_node - 1), cluster.node, slice);
  return cost;
}

}  // namespace

LinkCost AllReduceCost(AllReduceAlgorithm algorithm, const Cluster& cluster) {
  assert(cluster.ranks > 0 && cluster.ranks_per_node > 0);
  const int64_t per_node = std::min(cluster.ranks, cluster.ranks_per_node);
  const int64_t nodes = CeilDiv(cluster.ranks, per_node);
  switch (algorithm) {
    case AllReduceAlgorithm::kRing: {
      // Every step is as slow as its slowest message; one leaves each node.
      LinkCost slowest = nodes > 1 ? cluster.network : cluster.node;
      if (nodes > 1 && per_node > 1) {
        slowest.latency = std::max(slowest.latency, cluster.node.latency);
        slowest.seconds_per_byte =
            std::max(slowest.seconds_per_byte, cluster.node.seconds_per_byte);
      }
      return Ring(cluster.ranks, slowest, cluster.seconds_per_byte_added);
    }
    case AllReduceAlgorithm::kHalvingDoubling:
      return HalvingDoubling(cluster);
    case AllReduceAlgorithm::kHierarchical:
      return Hierarchical(nodes, per_node, cluster);
  }
  return {};
}

LinkCost TreeAllReduceCost(const Cluster& cluster) {
  assert(cluster.ranks > 0);
  const int levels = std::bit_width(uint64_t(cluster.ranks - 1));
  LinkCost cost = {.seconds_per_byte = levels * cluster.seconds_per_byte_added};
  Add(cost, 2 * levels, cluster.network, 1);
  return cost;
}

StepPrediction PredictStep(const StepProfile& profile, int64_t bucket_bytes, bool blocking,
                           absl::FunctionRef<double(double bytes)> all_reduce_seconds) {
  assert(profile.exchange_load >= 0 && profile.exchange_load < 1);
  const auto buckets = GradientReducer::Cut(profile.dtype, profile.elements, bucket_bytes);
  double backward = profile.backward_seconds;  // its end, exchanges beside it considered
  std::vector<double> durations, ends;         // of the exchanges
  auto event = profile.ready.begin();
  double link_free = 0;
  for (const auto& [begin, end] : buckets) {
    while (event != profile.ready.end() && event->from > begin) ++event;
    const double ready = event == profile.ready.end() ? profile.backward_seconds : event->seconds;
    const double start = std::max(link_free, ready + backward - profile.backward_seconds);
    durations.push_back(all_reduce_seconds(double(end - begin) * double(SizeOf(profile.dtype))));
    link_free = start + durations.back();
    ends.push_back(link_free);
    const double beside =
        std::min(durations.back(), std::max(0.0, backward - start) / (1 - profile.exchange_load));
    if (!blocking) backward += beside * profile.exchange_load;
  }
  StepPrediction step = {.seconds = backward};
  for (size_t i = 0; i < buckets.size(); ++i) {
    const double waited = blocking ? durations[i] : std::max(0.0, ends[i] - step.seconds);
    const double share = double(buckets[i].end - buckets[i].begin) / double(profile.elements);
    step.exposed_seconds += waited;
    step.seconds += waited + profile.update_seconds * share;
  }
  return step;
}

int64_t BestBucketBytes(const StepProfile& profile, bool blocking,
                        absl::FunctionRef<double(double bytes)> all_reduce_seconds) {
  constexpr int64_t kSmallest = 64 << 10;
  const int64_t all = profile.elements * int64_t(SizeOf(profile.dtype));
  std::vector<double> seconds;  // of steps with buckets of kSmallest, twice that, ...
  for (int64_t bytes = kSmallest;; bytes *= 2) {
    seconds.push_back(PredictStep(profile, bytes, blocking, all_reduce_seconds).seconds);
    if (bytes >= all) break;
  }
  const double most = 1.001 * *std::min_element(seconds.begin(), seconds.end());
  size_t best = seconds.size() - 1;
  while (seconds[best] > most) --best;
  return kSmallest << best;
}

}  // namespace dtnn
