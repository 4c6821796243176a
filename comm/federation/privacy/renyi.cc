#include "comm/federation/privacy/renyi.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

namespace dtnn::federation {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double LogOfChoices(int n, int k) {
  return std::lgamma(n + 1.0) - std::lgamma(k + 1.0) - std::lgamma(n - k + 1.0);
}

// log of sum over k of C(a, k) (1 - q)^(a - k) q^k exp((k^2 - k) / (2 s^2)), over a - 1.
double Sampled(int a, double q, double noise) {
  std::vector<double> terms;
  for (int k = 0; k <= a; ++k) {
    const double squares = double(k) * double(k) - double(k);
    terms.push_back(LogOfChoices(a, k) + (a - k) * std::log1p(-q) + k * std::log(q) +
                    squares / (2 * noise * noise));
  }
  const double most = *std::ranges::max_element(terms);
  double sum = 0;
  for (const double term : terms) sum += std::exp(term - most);
  return (most + std::log(sum)) / (a - 1);
}

}  // namespace

double RenyiDivergence(double order, double sampling, double noise) {
  if (sampling <= 0) return 0;
  if (!(noise > 0)) return kInfinity;
  const double whole = order / (2 * noise * noise);
  if (sampling >= 1) return whole;
  // Not more than without sampling, whatever rounding does.
  return std::clamp(Sampled(int(std::ceil(order)), sampling, noise), 0.0,
                    std::ceil(order) / (2 * noise * noise));
}

RenyiAccountant::RenyiAccountant() {
  for (double order = 1.05; order < 4; order += 0.05) orders_.push_back(order);
  for (int order = 4; order <= 64; ++order) orders_.push_back(order);
  for (int order = 80; order <= 1024; order += order / 5) orders_.push_back(order);
  spent_.resize(orders_.size());
}

void RenyiAccountant::Add(double sampling, double noise, uint64_t releases) {
  if (releases == 0) return;
  if (one_.empty() || sampling != sampling_ || noise != noise_) {
    one_.clear();
    for (const double order : orders_) one_.push_back(RenyiDivergence(order, sampling, noise));
    sampling_ = sampling;
    noise_ = noise;
  }
  for (size_t i = 0; i < one_.size(); ++i) spent_[i] += double(releases) * one_[i];
}

bool RenyiAccountant::Restore(std::vector<double> spent) {
  if (spent.size() != orders_.size()) return false;
  spent_ = std::move(spent);
  return true;
}

double RenyiAccountant::Epsilon(double delta) const {
  if (std::ranges::all_of(spent_, [](double x) { return x == 0; })) return 0;
  double least = kInfinity;
  for (size_t i = 0; i < orders_.size(); ++i) {
    const double a = orders_[i];
    least =
        std::min(least, spent_[i] - (std::log(delta) + std::log(a)) / (a - 1) + std::log1p(-1 / a));
  }
  return std::max(0.0, least);
}

}  // namespace dtnn::federation
