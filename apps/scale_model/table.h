// What scale_model prints, as text.

#ifndef DTNN_APPS_SCALE_MODEL_TABLE_H_
#define DTNN_APPS_SCALE_MODEL_TABLE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/ranks/gradients/cost_model.h"

namespace dtnn {

// How gradients are exchanged: buckets of a size, or, 0, of the best for each prediction.
struct ExchangeChoice {
  int64_t bucket_bytes = 0;
  bool blocking = false;
};

struct ScalePrediction {
  int64_t bucket_bytes = 0;
  StepPrediction step = {};
};

// With all-reduces at this cost.
ScalePrediction PredictScale(const StepProfile& profile, const LinkCost& all_reduce,
                             const ExchangeChoice& choice);

// A way to sum gradients, and what it costs on a cluster.
struct ScaleAlgorithm {
  std::string_view name;
  LinkCost (*cost)(const Cluster& cluster);
};
// Those of --network-alg: "vdg", "bta"; "all": those that there are here.
std::span<const ScaleAlgorithm> ScaleAlgorithms(std::string_view network_alg);

// "64 KiB", "1.50 MiB".
std::string FormatBytes(int64_t bytes);
std::string FormatLink(const LinkCost& link);

// When the gradients of each of `layers` are final; these in the order of the profile's events.
std::string FormatEvents(const StepProfile& profile, const std::vector<std::string>& layers);

// A line for 1, 2, 4, ... ranks of `cluster`, up to `max_ranks`: step and efficiency by algorithm,
// and the best of these.
std::string FormatScale(const StepProfile& profile, const Cluster& cluster,
                        const ExchangeChoice& choice, std::span<const ScaleAlgorithm> algorithms,
                        int64_t batch, int64_t max_ranks);

// Two lines: what was predicted and what was measured.
std::string FormatCheck(int64_t ranks, const ScalePrediction& predicted,
                        const StepPrediction& measured);

}  // namespace dtnn

#endif  // DTNN_APPS_SCALE_MODEL_TABLE_H_
