#include "comm/federation/aggregator/federation_state.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "comm/federation/protocol.h"
#include "tensor/text/str_cat.h"

namespace dtnn::federation {

namespace {

bool AreFinite(std::span<const float> numbers) {
  return std::ranges::all_of(numbers, [](float x) { return std::isfinite(x); });
}

}  // namespace

double ClipOfRound(const Protector& protector, int quorum, int asked,
                   const FederationState& state) {
  const PrivacyOptions& privacy = protector.privacy();
  if (!privacy.adapts()) return 0;
  // A file may hold anything.
  const double clip = state.clip > 0 ? NearFirstClip(privacy, state.clip) : privacy.clip;
  if (clip >= privacy.clip) return clip;
  const double noise_of_1 =
      NoiseOfClient(privacy.WithClip(1), 1, protector.together(quorum, asked));
  constexpr double kRounding = 1.001;  // clients compute the same in another order
  const double least = kRounding * LeastNoise(protector, asked, 1, state.parameters) / noise_of_1;
  return std::max(clip, std::min(privacy.clip, least));
}

std::vector<float> NumbersOfRound(const FederationState& state, size_t trainable, bool control) {
  std::vector<float> numbers = state.parameters;
  if (!control) return numbers;
  numbers.insert(numbers.end(), state.control.begin(), state.control.end());
  numbers.resize(state.parameters.size() + trainable);  // zeros before the first round
  return numbers;
}

absl::Status TakeAverage(const StrategyOptions& strategy, size_t trainable,
                         std::span<const float> average, std::span<const Asked> asked,
                         int64_t all_samples, FederationState& state) {
  std::vector<ClientWork> works;
  double samples = 0;
  for (const Asked& client : asked) {
    if (client.state != Asked::State::kAccepted) continue;
    works.push_back({.samples = client.samples, .steps = client.steps});
    samples += double(client.clients > 0 ? client.report.samples : client.samples);
  }
  const size_t values = state.parameters.size();
  Follow(strategy, average.first(values), trainable, works, state.moments, state.parameters);
  if (strategy.controls()) {
    state.control.resize(trainable);
    MoveControl(average.subspan(values), std::min(1.0, samples / double(all_samples)),
                state.control);
  }
  if (!AreFinite(state.parameters) || !AreFinite(state.control)) {
    return absl::DataLossError(
        StrCat("round ", state.rounds_done + 1,
               ": the parameters are no longer finite; lower the strategy's learning rate"));
  }
  ++state.rounds_done;
  return absl::OkStatus();
}

}  // namespace dtnn::federation
