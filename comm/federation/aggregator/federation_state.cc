#include "comm/federation/aggregator/federation_state.h"

#include <algorithm>
#include <cmath>

#include "tensor/text/str_cat.h"

namespace dtnn::federation {

absl::Status TakeAverage(const StrategyOptions& strategy, size_t trainable,
                         std::span<const float> average, FederationState& state) {
  Follow(strategy, average, trainable, state.moments, state.parameters);
  if (!std::ranges::all_of(state.parameters, [](float x) { return std::isfinite(x); })) {
    return absl::DataLossError(
        StrCat("round ", state.rounds_done + 1,
               ": the parameters are no longer finite; lower the strategy's learning rate"));
  }
  ++state.rounds_done;
  return absl::OkStatus();
}

}  // namespace dtnn::federation
