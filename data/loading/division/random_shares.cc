#include "data/loading/division/random_shares.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace dtnn {
namespace {

class Draws {
 public:
  explicit Draws(const Philox& random) : random_(random) {}

  // In (0, 1), with 52 bits.
  double Uniform() {
    const uint64_t high = random_.Bits(next_), low = random_.Bits(next_ + 1);
    next_ += 2;
    return (double(((high << 32) | low) >> 12) + 0.5) * 0x1p-52;
  }
  double Normal() {
    const double radius = std::sqrt(-2 * std::log(Uniform()));
    return radius * std::cos(2 * std::numbers::pi * Uniform());
  }
  // The logarithm of a gamma variate (Marsaglia and Tsang, "A simple method for generating gamma
  // variables", 2000): those of a small alpha are too small for a number.
  double LogGamma(double alpha) {
    if (alpha < 1) {
      const double larger = LogGamma(alpha + 1);  // draws first, with every compiler
      return larger + std::log(Uniform()) / alpha;
    }
    const double d = alpha - 1.0 / 3, c = 1 / std::sqrt(9 * d);
    while (true) {
      const double z = Normal(), root = 1 + c * z;
      if (root <= 0) continue;
      const double v = root * root * root;
      if (std::log(Uniform()) < z * z / 2 + d * (1 - v + std::log(v))) return std::log(d * v);
    }
  }

 private:
  const Philox& random_;
  uint64_t next_ = 0;
};

// The shares of numbers whose logarithms these are.
std::vector<double> SharesOfLogs(std::vector<double> logs) {
  const double most = logs.empty() ? 0 : *std::ranges::max_element(logs);
  double sum = 0;
  for (double& x : logs) sum += x = std::exp(x - most);
  for (double& x : logs) x /= sum;
  return logs;
}

}  // namespace

std::vector<double> DirichletShares(const Philox& random, double alpha, int64_t count) {
  Draws draws(random);
  std::vector<double> logs;
  for (int64_t i = 0; i < count; ++i) logs.push_back(draws.LogGamma(alpha));
  return SharesOfLogs(std::move(logs));
}

std::vector<double> LogNormalShares(const Philox& random, double sigma, int64_t count) {
  Draws draws(random);
  std::vector<double> logs;
  for (int64_t i = 0; i < count; ++i) logs.push_back(sigma * draws.Normal());
  return SharesOfLogs(std::move(logs));
}

std::vector<int64_t> EndsOfShares(std::span<const double> shares, int64_t size) {
  std::vector<int64_t> ends;
  double sum = 0;
  for (const double share : shares) {
    sum += share;
    ends.push_back(std::min(size, int64_t(std::llround(sum * double(size)))));
  }
  if (!ends.empty()) ends.back() = size;
  return ends;
}

}  // namespace dtnn
