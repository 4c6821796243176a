#include "comm/federation/factors.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "tensor/errors.h"

namespace dtnn::federation {
namespace {

// Rounding error of the effective number of equal factors, which is a whole number but for
// rounding.
constexpr double kRounding = 1e-9;
// The clients of a sum have at least this weight, relative to the largest that was asked.
constexpr double kLeastWeight = 1.0 / 16;

}  // namespace

std::vector<double> ClientFactors(RankWeighting weighting, std::span<const int64_t> samples,
                                  std::span<const int64_t> steps,
                                  std::span<const int64_t> clients) {
  std::vector<double> factors =
      RankWeights(weighting, samples, std::vector<bool>(samples.size(), true));
  for (size_t i = 0; i < steps.size(); ++i) factors[i] /= double(steps[i]);
  if (weighting == RankWeighting::kEqual) {
    for (size_t i = 0; i < clients.size(); ++i) factors[i] *= double(clients[i]);
  }
  const double most = factors.empty() ? 1 : *std::ranges::max_element(factors);
  for (double& factor : factors) factor /= most;
  return factors;
}

double ShareOfGroup(RankWeighting weighting, const GroupSize& told, const GroupSize& answered) {
  return weighting == RankWeighting::kEqual ? double(answered.clients) / double(told.clients)
                                            : double(answered.samples) / double(told.samples);
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

namespace {

absl::Status CheckWeight(double sum, double least) {
  if (sum >= least) return absl::OkStatus();
  return FailedPrecondition("the clients that are left have ", sum,
                            " of the weight of the largest one that was asked: rounding would "
                            "drown their mean");
}

}  // namespace

absl::Status CheckWeightLeft(double sum) { return CheckWeight(sum, kLeastWeight); }

absl::Status CheckPlainWeightLeft(double sum, size_t updates) {
  return CheckWeight(sum, kLeastPlainWeight * double(updates));
}

}  // namespace dtnn::federation
