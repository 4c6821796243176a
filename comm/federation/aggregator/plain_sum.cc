#include "comm/federation/aggregator/plain_sum.h"

#include <cmath>

#include "comm/federation/aggregator/attempt_numbers.h"
#include "tensor/text/str_cat.h"

namespace dtnn::federation {

void PlainSum::Add(std::span<const float> values) {
  for (size_t i = 0; i < total_.size(); ++i) total_[i] += values[i];
}

std::vector<float> PlainSum::Mean(double divisor) const {
  std::vector<float> mean(total_.size());
  for (size_t i = 0; i < mean.size(); ++i) mean[i] = float(total_[i] / divisor);
  return mean;
}

absl::Status CheckUpdate(std::span<const float> values, double factor, std::span<const float> begin,
                         double max_norm) {
  if (!AreNumbersOfNetworks(values, factor)) {
    return absl::OutOfRangeError(StrCat("its update has numbers beyond ", kLargestNumber));
  }
  if (max_norm <= 0 || begin.size() != values.size()) return absl::OkStatus();
  double squares = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double d = values[i] / factor - begin[i];
    squares += d * d;
  }
  const double norm = std::sqrt(squares);
  if (norm <= max_norm) return absl::OkStatus();  // false for NaN
  return absl::OutOfRangeError(
      StrCat("its update has the norm ", norm, ", more than the ", max_norm, " that are allowed"));
}

}  // namespace dtnn::federation
