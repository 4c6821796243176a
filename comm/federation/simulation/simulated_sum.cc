#include "comm/federation/simulation/simulated_sum.h"

#include "comm/federation/aggregator/attempt_numbers.h"
#include "comm/federation/masked_protocol.h"
#include "comm/secrets/masked/fixed_point.h"
#include "tensor/status_macros.h"

namespace dtnn::federation {

SimulatedSum::SimulatedSum(const Protector& protector, size_t values, int participants)
    : masked_(protector.protection() == Protection::kMasked),
      participants_(participants),
      plain_(masked_ ? 0 : values),
      words_(masked_ ? values : 0),
      scratch_(words_.size()) {}

absl::Status SimulatedSum::Add(std::span<const float> update) {
  if (!masked_) {
    plain_.Add(update);
    return absl::OkStatus();
  }
  const int bits = MaskedFractionBits(participants_);
  DTNN_RETURN_IF_ERROR(masked::ToFixedPoint(
      update, bits, masked::FixedPointLimit(32, bits, participants_), std::span(scratch_)));
  for (size_t i = 0; i < words_.size(); ++i) words_[i] += scratch_[i];
  return absl::OkStatus();
}

absl::StatusOr<std::vector<float>> SimulatedSum::Mean(double divisor) const {
  if (!masked_) return plain_.Mean(divisor);
  std::vector<float> mean(words_.size());
  masked::FromFixedPoint(std::span(words_), MaskedFractionBits(participants_), std::span(mean));
  for (float& x : mean) x = float(x / divisor);
  if (AreNumbersOfNetworks(mean, 1)) return mean;
  return absl::DataLossError("the mean is not that of a network");
}

}  // namespace dtnn::federation
