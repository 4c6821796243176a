#include "comm/federation/client/update_numbers.h"

#include <algorithm>

#include "comm/federation/hidden_metrics.h"
#include "comm/federation/privacy/privacy.h"
#include "tensor/status_macros.h"

namespace dtnn::federation {

absl::StatusOr<std::vector<float>> PrivateUpdate(const Protector& protector, double clip,
                                                 std::span<const float> begin, double factor,
                                                 int together, ChaCha20Stream& random,
                                                 std::span<const float> parameters) {
  const PrivacyOptions privacy = protector.privacy().WithClip(clip);
  std::vector<float> update(parameters.begin(), parameters.end());
  DTNN_ASSIGN_OR_RETURN(
      const bool below,
      MakePrivate(begin, privacy.clip, NoiseOfClient(privacy, factor, together), random, update));
  if (privacy.adapts()) {
    update.push_back(NumberOfBit(privacy, below, factor, together, random));
  }
  return update;
}

std::vector<float> DifferenceOf(std::span<const float> parameters, std::span<const float> begin,
                                size_t trainable) {
  std::vector<float> difference(parameters.begin(), parameters.end());
  for (size_t i = 0; i < trainable; ++i) difference[i] -= begin[i];
  return difference;
}

std::vector<float> AddOwed(const Compression& compression, std::span<const float> begin,
                           std::span<const float> owed, std::span<float> parameters) {
  for (size_t i = 0; i < owed.size(); ++i) parameters[i] += owed[i];
  const size_t trainable = owed.size();
  return Owed(compression, trainable, DifferenceOf(parameters.first(trainable), begin, trainable));
}

std::vector<float> HideReport(const Protector& protector, bool plain_metrics, Metrics& metrics) {
  if (protector.hides_in_sums() && !protector.privacy().on()) return HideMetrics(metrics);
  const bool plain = protector.protection() == Protection::kNone || plain_metrics;
  if (!plain || protector.privacy().on()) metrics.clear();
  return {};
}

void ScaleNumbers(std::span<const float> parameters, std::span<const float> hidden, double factor,
                  size_t at, std::span<float> out) {
  const auto scale = [factor](float x) { return float(x * factor); };
  const size_t count = std::min(out.size(), parameters.size() - std::min(at, parameters.size()));
  auto next =
      std::ranges::transform(parameters.subspan(count == 0 ? 0 : at, count), out.begin(), scale)
          .out;
  if (count == out.size()) return;
  const size_t from = at + count - parameters.size();  // of `hidden`
  std::ranges::transform(hidden.subspan(from, out.size() - count), next, scale);
}

}  // namespace dtnn::federation
