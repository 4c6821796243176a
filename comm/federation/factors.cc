#include "comm/federation/factors.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "tensor/errors.h"

namespace dtnn::federation {
namespace {

// Rounding error of the effective number of equal factors, which is a whole number but for
// rounding.
constexpr double kRounding = 1e-9;

}  // namespace

std::vector<double> ClientFactors(RankWeighting weighting, std::span<const int64_t> samples) {
  std::vector<double> factors =
      RankWeights(weighting, samples, std::vector<bool>(samples.size(), true));
  const double most = factors.empty() ? 1 : *std::ranges::max_element(factors);
  for (double& factor : factors) factor /= most;
  return factors;
}

double EffectiveNumber(std::span<const double> factors) {
  double sum = 0, squares = 0;
  for (const double factor : factors) {
    sum += factor;
    squares += factor * factor;
  }
  return squares > 0 ? sum * sum / squares : 0;
}

absl::Status CheckHidden(std::span<const double> factors, double least) {
  const double effective = EffectiveNumber(factors);
  if (effective >= least * (1 - kRounding)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrFormat(
      "the weights of the %d clients of this sum hide one update no better than %.3g equal ones "
      "would, and this client wants %.3g (least_clients); strategy avg weighs all alike",
      factors.size(), effective, least));
}

}  // namespace dtnn::federation
