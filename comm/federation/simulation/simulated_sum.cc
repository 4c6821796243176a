#include "comm/federation/simulation/simulated_sum.h"

#include "comm/federation/aggregator/attempt_numbers.h"
#include "comm/federation/masked_protocol.h"
#include "comm/secrets/masked/fixed_point.h"
#include "tensor/status_macros.h"

namespace dtnn::federation {

SimulatedSum::SimulatedSum(const Protector& protector, const RobustOptions& robust, size_t values,
                           int participants)
    : masked_(protector.protection() == Protection::kMasked),
      robust_(robust),
      participants_(participants),
      plain_(masked_ || robust_.on() ? 0 : values),
      words_(masked_ ? values : 0),
      scratch_(words_.size()) {}

absl::Status SimulatedSum::Add(std::vector<float> update, double factor) {
  if (masked_) {
    const int bits = MaskedFractionBits(participants_);
    DTNN_RETURN_IF_ERROR(masked::ToFixedPoint(std::span<const float>(update), bits,
                                              masked::FixedPointLimit(32, bits, participants_),
                                              std::span(scratch_)));
    for (size_t i = 0; i < words_.size(); ++i) words_[i] += scratch_[i];
  } else if (robust_.on()) {
    updates_.emplace_back(std::move(update), factor);
  } else {
    plain_.Add(update);
  }
  divisor_ += factor;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<float>> SimulatedSum::Mean(std::span<const float> begin) const {
  if (robust_.on()) {
    std::vector<WeightedUpdate> updates;
    for (const auto& [values, factor] : updates_) {
      updates.push_back({.values = values, .factor = factor});
    }
    return RobustMean(robust_, updates, begin);
  }
  if (!masked_) return plain_.Mean(divisor_);
  std::vector<float> mean(words_.size());
  masked::FromFixedPoint(std::span(words_), MaskedFractionBits(participants_), std::span(mean));
  for (float& x : mean) x = float(x / divisor_);
  if (AreNumbersOfNetworks(mean, 1)) return mean;
  return absl::DataLossError("the mean is not that of a network");
}

}  // namespace dtnn::federation
