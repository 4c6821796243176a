#include "apps/scale_model/table.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_format.h"
#include "comm/all_reduce_algorithm.h"
#include "tensor/dtype.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

constexpr double kMillisecond = 1e-3, kMicrosecond = 1e-6;

template <AllReduceAlgorithm kAlgorithm>
LinkCost CostOf(const Cluster& cluster) {
  return AllReduceCost(kAlgorithm, cluster);
}

double ErrorPercent(double predicted, double measured) {
  return 100 * (predicted - measured) / measured;
}

// Powers of two up to a node, then nodes that are full.
std::vector<int64_t> RowsOfRanks(int64_t ranks_per_node, int64_t max_ranks) {
  std::vector<int64_t> rows;
  for (int64_t ranks = 1; ranks < ranks_per_node; ranks *= 2) rows.push_back(ranks);
  for (int64_t ranks = ranks_per_node; ranks <= max_ranks; ranks *= 2) rows.push_back(ranks);
  while (!rows.empty() && rows.back() > max_ranks) rows.pop_back();
  return rows;
}

}  // namespace

std::span<const ScaleAlgorithm> ScaleAlgorithms(std::string_view network_alg) {
  static constexpr ScaleAlgorithm kHere[] = {
      {"ring", CostOf<AllReduceAlgorithm::kRing>},
      {"halving-doubling", CostOf<AllReduceAlgorithm::kHalvingDoubling>},
      {"hierarchical", CostOf<AllReduceAlgorithm::kHierarchical>}};
  static_assert(std::size(kHere) == kAllReduceAlgorithms.size());
  static constexpr ScaleAlgorithm kTree[] = {{"binomial tree", TreeAllReduceCost}};
  if (network_alg == "bta") return kTree;
  const std::span<const ScaleAlgorithm> all(kHere);
  // Van de Geijn's reduce-scatter and all-gather, in the fewest messages.
  return network_alg == "vdg" ? all.subspan(1, 1) : all;
}

ScalePrediction PredictScale(const StepProfile& profile, const LinkCost& all_reduce,
                             const ExchangeChoice& choice) {
  const auto seconds = [&](double bytes) { return all_reduce.Seconds(bytes); };
  const int64_t bucket_bytes = choice.bucket_bytes > 0
                                   ? choice.bucket_bytes
                                   : BestBucketBytes(profile, choice.blocking, seconds);
  return {bucket_bytes, PredictStep(profile, bucket_bytes, choice.blocking, seconds)};
}

std::string FormatBytes(int64_t bytes) {
  if (bytes < 1 << 20) return absl::StrFormat("%.4g KiB", double(bytes) / (1 << 10));
  return absl::StrFormat("%.4g MiB", double(bytes) / (1 << 20));
}

std::string FormatLink(const LinkCost& link) {
  return absl::StrFormat("%8.1f us, %7.2f Gbit/s", link.latency / kMicrosecond,
                         8e-9 / std::max(link.seconds_per_byte, 1e-15));
}

std::string FormatEvents(const StepProfile& profile, const std::vector<std::string>& layers) {
  std::string text = "  gradients of                  final at       part\n";
  int64_t end = profile.elements;
  for (size_t i = 0; i < profile.ready.size(); ++i) {
    const auto& [from, seconds] = profile.ready[i];
    absl::StrAppendFormat(&text, "  %-24s %10.2f ms %10s\n", layers[i], seconds / kMillisecond,
                          FormatBytes((end - from) * int64_t(SizeOf(profile.dtype))));
    end = from;
  }
  return text;
}

std::string FormatScale(const StepProfile& profile, const Cluster& cluster,
                        const ExchangeChoice& choice, std::span<const ScaleAlgorithm> algorithms,
                        int64_t batch, int64_t max_ranks) {
  std::string text = "       ";
  for (const ScaleAlgorithm& algorithm : algorithms) {
    absl::StrAppendFormat(&text, "  %-18s", std::string(algorithm.name));
  }
  StrAppend(&text, "  best\n  ranks");
  for (size_t i = 0; i < algorithms.size(); ++i) text += "     ms/step    eff.";
  text += "  algorithm              bucket    exposed    samples/s\n";
  const double alone = profile.backward_seconds + profile.update_seconds;
  for (const int64_t ranks : RowsOfRanks(cluster.ranks_per_node, max_ranks)) {
    absl::StrAppendFormat(&text, "%7d", ranks);
    Cluster many = cluster;
    many.ranks = ranks;
    ScalePrediction best;
    const ScaleAlgorithm* fastest = nullptr;
    for (const ScaleAlgorithm& algorithm : algorithms) {
      const ScalePrediction prediction = PredictScale(profile, algorithm.cost(many), choice);
      const double seconds = prediction.step.seconds;
      absl::StrAppendFormat(&text, "%12.2f %6.1f%%", seconds / kMillisecond, 100 * alone / seconds);
      if (fastest == nullptr || seconds < best.step.seconds) {
        best = prediction;
        fastest = &algorithm;
      }
    }
    absl::StrAppendFormat(
        &text, "  %-17s %11s %7.2f ms %12.1f\n", ranks == 1 ? "-" : std::string(fastest->name),
        ranks == 1 ? "-" : FormatBytes(best.bucket_bytes), best.step.exposed_seconds / kMillisecond,
        double(batch * ranks) / best.step.seconds);
  }
  return text;
}

std::string FormatCheck(int64_t ranks, const ScalePrediction& predicted,
                        const StepPrediction& measured) {
  return absl::StrFormat(
      "  ranks    predicted     measured    error    exposed: predicted     measured\n"
      "%7d %9.2f ms %9.2f ms %+7.1f%% %20.2f ms %9.2f ms\n",
      ranks, predicted.step.seconds / kMillisecond, measured.seconds / kMillisecond,
      ErrorPercent(predicted.step.seconds, measured.seconds),
      predicted.step.exposed_seconds / kMillisecond, measured.exposed_seconds / kMillisecond);
}

}  // namespace dtnn
