#include "comm/federation/client/update_numbers.h"

#include "comm/federation/hidden_metrics.h"
#include "comm/federation/privacy.h"
#include "tensor/status_macros.h"

namespace dtnn::federation {

absl::StatusOr<std::vector<float>> PrivateUpdate(const Protector& protector,
                                                 std::span<const float> begin, double factor,
                                                 int together, ChaCha20Stream& random,
                                                 std::span<const float> parameters) {
  const PrivacyOptions& privacy = protector.privacy();
  std::vector<float> update(parameters.begin(), parameters.end());
  DTNN_RETURN_IF_ERROR(
      MakePrivate(begin, privacy.clip, NoiseOfClient(privacy, factor, together), random, update));
  return update;
}

std::vector<float> HideReport(const Protector& protector, size_t values, bool plain_metrics,
                              Metrics& metrics) {
  if (protector.sum_values(values) > values) return HideMetrics(metrics);
  const bool plain = protector.protection() == Protection::kNone || plain_metrics;
  if (!plain || protector.privacy().on()) metrics.clear();
  return {};
}

void ScaleNumbers(std::span<const float> parameters, std::span<const float> hidden, double factor,
                  size_t at, std::span<float> out) {
  for (size_t i = 0; i < out.size(); ++i) {
    const size_t of = at + i;
    const float x = of < parameters.size() ? parameters[of] : hidden[of - parameters.size()];
    out[i] = float(x * factor);
  }
}

}  // namespace dtnn::federation
