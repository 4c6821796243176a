#include "comm/federation/aggregator/federation_state.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tensor/text/str_cat.h"

namespace dtnn::federation {

absl::Status TakeAverage(const StrategyOptions& strategy, size_t trainable,
                         std::span<const float> average, std::span<const Asked> asked,
                         FederationState& state) {
  std::vector<ClientWork> works;
  for (const Asked& client : asked) {
    if (client.state != Asked::State::kAccepted) continue;
    works.push_back({.samples = client.samples, .steps = client.steps});
  }
  Follow(strategy, average, trainable, works, state.moments, state.parameters);
  if (!std::ranges::all_of(state.parameters, [](float x) { return std::isfinite(x); })) {
    return absl::DataLossError(
        StrCat("round ", state.rounds_done + 1,
               ": the parameters are no longer finite; lower the strategy's learning rate"));
  }
  ++state.rounds_done;
  return absl::OkStatus();
}

}  // namespace dtnn::federation
