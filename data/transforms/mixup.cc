#include "data/transforms/mixup.h"

#include <cmath>
#include <cstddef>

#include "tensor/errors.h"

namespace dtnn {
namespace {

constexpr double kMostAlpha = 2;
constexpr uint16_t kStream = 99;  // no transform's

template <typename T>
void MixValues(double share, std::span<T> a, std::span<const T> b) {
  const T s = T(share), rest = T(1 - share);
  for (size_t i = 0; i < a.size(); ++i) a[i] = s * a[i] + rest * b[i];
}

}  // namespace

absl::Status CheckMixup(double alpha) {
  if (alpha >= 0 && alpha <= kMostAlpha) return absl::OkStatus();
  return InvalidArgument("mixup: alpha must be a number from 0 to ", kMostAlpha, ", not ", alpha);
}

// By Joehnk ("Erzeugung von betaverteilten und gammaverteilten Zufallszahlen", 1964): with
// x = u^(1/alpha) and y = v^(1/alpha), x / (x + y) is Beta where x + y <= 1. In logarithms, since
// small alphas take both below what numbers can hold.
double MixupShare(double alpha, uint64_t seed, int64_t epoch, int64_t place) {
  const SampleRandom random(seed, epoch, place, kStream);
  for (int i = 0;; i += 2) {
    const double x = std::log(1 - random.Uniform(i));
    const double y = std::log(1 - random.Uniform(i + 1));
    if (std::exp(x / alpha) + std::exp(y / alpha) > 1) continue;
    // The difference first: both quotients may be infinite.
    return 1 / (1 + std::exp(-std::abs(x - y) / alpha));
  }
}

void Mix(double share, std::span<float> a, std::span<const float> b) { MixValues(share, a, b); }

void Mix(double share, std::span<double> a, std::span<const double> b) { MixValues(share, a, b); }

}  // namespace dtnn
