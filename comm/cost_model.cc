#include "comm/cost_model.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <vector>

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
