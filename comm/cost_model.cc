#include "comm/cost_model.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace dtnn {
namespace {

double Ring(int64_t ranks, double bytes, const LinkCost& link, double added) {
  const double steps = double(ranks - 1), piece = bytes / double(ranks);
  return steps * (2 * link.Seconds(piece) + piece * added);
}

// `link(distance)`: between ranks that far apart.
double HalvingDoubling(int64_t ranks, double bytes, double added,
                       absl::FunctionRef<LinkCost(int64_t distance)> link) {
  const int64_t power = int64_t(std::bit_floor(uint64_t(ranks)));
  double seconds = 0;
  if (power < ranks) seconds = 2 * link(1).Seconds(bytes) + bytes * added;
  for (int64_t distance = power / 2; distance > 0; distance /= 2) {
    bytes /= 2;
    seconds += 2 * link(distance).Seconds(bytes) + bytes * added;
  }
  return seconds;
}

// `sharing` messages at a time.
LinkCost Shared(const LinkCost& link, int64_t sharing) {
  return {link.latency, link.seconds_per_byte * double(sharing)};
}

double Hierarchical(int64_t nodes, int64_t per_node, double bytes, const Cluster& cluster) {
  const double added = cluster.seconds_per_byte_added;
  const LinkCost network = Shared(cluster.network, per_node);
  const double piece = bytes / double(per_node);
  return Ring(per_node, bytes, cluster.node, added) +
         std::min(Ring(nodes, piece, network, added),
                  HalvingDoubling(nodes, piece, added, [&](int64_t) { return network; }));
}

}  // namespace

std::string_view Name(AllReduceAlgorithm algorithm) {
  switch (algorithm) {
    case AllReduceAlgorithm::kRing:
      return "ring";
    case AllReduceAlgorithm::kHalvingDoubling:
      return "halving-doubling";
    case AllReduceAlgorithm::kHierarchical:
      return "hierarchical";
  }
  return "?";
}

double AllReduceSeconds(AllReduceAlgorithm algorithm, const Cluster& cluster, double bytes) {
  assert(cluster.ranks > 0 && cluster.ranks_per_node > 0);
  const int64_t per_node = std::min(cluster.ranks, cluster.ranks_per_node);
  const int64_t nodes = (cluster.ranks + per_node - 1) / per_node;
  switch (algorithm) {
    case AllReduceAlgorithm::kRing: {
      // Every step is as slow as its slowest message; one leaves each node.
      LinkCost slowest = nodes > 1 ? cluster.network : cluster.node;
      if (nodes > 1 && per_node > 1) {
        slowest.latency = std::max(slowest.latency, cluster.node.latency);
        slowest.seconds_per_byte =
            std::max(slowest.seconds_per_byte, cluster.node.seconds_per_byte);
      }
      return Ring(cluster.ranks, bytes, slowest, cluster.seconds_per_byte_added);
    }
    case AllReduceAlgorithm::kHalvingDoubling:
      return HalvingDoubling(
          cluster.ranks, bytes, cluster.seconds_per_byte_added, [&](int64_t distance) {
            return distance < per_node ? cluster.node : Shared(cluster.network, per_node);
          });
    case AllReduceAlgorithm::kHierarchical:
      return Hierarchical(nodes, per_node, bytes, cluster);
  }
  return 0;
}

StepPrediction PredictStep(const StepProfile& profile, int64_t bucket_bytes, bool blocking,
                           absl::FunctionRef<double(double bytes)> all_reduce_seconds) {
  StepPrediction step = {.seconds = profile.backward_seconds};
  double link_free = 0;
  auto event = profile.ready.begin();
  for (const auto& [begin, end] :
       GradientReducer::Cut(profile.dtype, profile.elements, bucket_bytes)) {
    while (event != profile.ready.end() && event->from > begin) ++event;
    double start = event == profile.ready.end() ? profile.backward_seconds : event->seconds;
    if (blocking) start = step.seconds;
    link_free = std::max(link_free, start) +
                all_reduce_seconds(double(end - begin) * double(SizeOf(profile.dtype)));
    const double waited = std::max(0.0, link_free - step.seconds);
    step.exposed_seconds += waited;
    step.seconds +=
        waited + profile.update_seconds * double(end - begin) / double(profile.elements);
  }
  return step;
}

int64_t BestBucketBytes(const StepProfile& profile, bool blocking,
                        absl::FunctionRef<double(double bytes)> all_reduce_seconds) {
  const int64_t all = profile.elements * int64_t(SizeOf(profile.dtype));
  int64_t best = 0;
  double shortest = 0;
  for (int64_t bytes = 64 << 10;; bytes *= 2) {
    const double seconds = PredictStep(profile, bytes, blocking, all_reduce_seconds).seconds;
    if (best == 0 || seconds <= shortest) {
      best = bytes;
      shortest = seconds;
    }
    if (bytes >= all) return best;
  }
}

}  // namespace dtnn
