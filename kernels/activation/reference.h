// Activations in plain loops and double precision: the definition that implementations are tested
// against.

#ifndef DTNN_KERNELS_ACTIVATION_REFERENCE_H_
#define DTNN_KERNELS_ACTIVATION_REFERENCE_H_

#include <cmath>
#include <cstddef>
#include <span>

#include "kernels/activation/activation.h"

namespace dtnn::reference {

// The normal distribution. In more digits than the result's, since the tail, far from 0, changes
// by many times the relative error of its argument.
inline double NormalDistribution(double x) {
  return double(std::erfc(-(long double)(x) / std::sqrt(2.0L)) / 2);
}

inline double Softplus(double x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

inline double Activate(ActivationKind kind, double x, const ActivationNumbers& numbers = {}) {
  switch (kind) {
    case ActivationKind::kRelu:
      return x < 0 ? 0 : x;  // a NaN stays one
    case ActivationKind::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case ActivationKind::kTanh:
      return std::tanh(x);
    case ActivationKind::kLeakyRelu:
      return x > 0 ? x : numbers.slope * x;
    case ActivationKind::kRelu6:
      return x < 0 ? 0 : x > 6 ? 6 : x;
    case ActivationKind::kArctanh:
      return std::atanh(x);
    case ActivationKind::kLog:
      return x > 0 ? -std::log1p(std::exp(-x)) : x - std::log1p(std::exp(x));
    case ActivationKind::kHardSigmoid:
      return x < -3 ? 0 : x > 3 ? 1 : (x + 3) / 6;
    case ActivationKind::kSilu:
      return x / (1 + std::exp(-x));
    case ActivationKind::kGelu:
      return x * NormalDistribution(x);
    case ActivationKind::kHardSwish:
      return x * (x < -3 ? 0 : x > 3 ? 1 : (x + 3) / 6);
    case ActivationKind::kElu:
      return x > 0 ? x : numbers.alpha * std::expm1(x);
    case ActivationKind::kClip:
      return x < numbers.low ? numbers.low : x > numbers.high ? numbers.high : x;
    case ActivationKind::kSoftplus:
      return Softplus(x);
    case ActivationKind::kMish:
      return x * std::tanh(Softplus(x));
  }
  return 0;
}

// The derivative at the point where the activation has the value y, or, where GradientReadsInput,
// at the point x.
inline double ActivationSlope(ActivationKind kind, double point,
                              const ActivationNumbers& numbers = {}) {
  const double x = point, y = point;
  if (std::isnan(y)) return y;
  switch (kind) {
    case ActivationKind::kRelu:
      return y > 0 ? 1 : 0;
    case ActivationKind::kSigmoid:
      return y * (1 - y);
    case ActivationKind::kTanh:
      return 1 - y * y;
    case ActivationKind::kLeakyRelu:
      return y > 0 ? 1 : numbers.slope;
    case ActivationKind::kRelu6:
      return y > 0 && y < 6 ? 1 : 0;
    case ActivationKind::kArctanh:
      return std::cosh(y) * std::cosh(y);
    case ActivationKind::kLog:
      return -std::expm1(y);
    case ActivationKind::kHardSigmoid:
      return y > 0 && y < 1 ? 1.0 / 6 : 0;
    case ActivationKind::kSilu: {
      const double s = 1 / (1 + std::exp(-x));
      return s * (1 + x / (1 + std::exp(x)));
    }
    case ActivationKind::kGelu:
      return NormalDistribution(x) + x * std::exp(-x * x / 2) / std::sqrt(2 * std::acos(-1));
    case ActivationKind::kHardSwish:
      return x <= -3 ? 0 : x >= 3 ? 1 : (2 * x + 3) / 6;
    case ActivationKind::kElu:
      return y > 0 ? 1 : y + numbers.alpha;
    case ActivationKind::kClip:
      return y > numbers.low && y < numbers.high ? 1 : 0;
    case ActivationKind::kSoftplus:
      return -std::expm1(-y);
    case ActivationKind::kMish: {
      // 1 - t^2 = 1 / cosh^2, which does not vanish before x does.
      const double softplus = Softplus(x), inverse = 1 / std::cosh(softplus);
      return std::tanh(softplus) + x * inverse * inverse / (1 + std::exp(-x));
    }
  }
  return 0;
}

inline void ActivationForward(ActivationKind kind, std::span<const double> x, std::span<double> y,
                              const ActivationNumbers& numbers = {}) {
  for (size_t i = 0; i < x.size(); ++i) y[i] = Activate(kind, x[i], numbers);
}

inline void ActivationBackward(ActivationKind kind, std::span<const double> point,
                               std::span<const double> dy, std::span<double> dx, bool accumulate,
                               const ActivationNumbers& numbers = {}) {
  for (size_t i = 0; i < point.size(); ++i) {
    dx[i] = (accumulate ? dx[i] : 0) + dy[i] * ActivationSlope(kind, point[i], numbers);
  }
}

}  // namespace dtnn::reference

#endif  // DTNN_KERNELS_ACTIVATION_REFERENCE_H_
