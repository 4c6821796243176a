// Activations in plain loops and double precision: the definition that implementations are tested
// against.

#ifndef DTNN_KERNELS_ACTIVATION_REFERENCE_H_
#define DTNN_KERNELS_ACTIVATION_REFERENCE_H_

#include <cmath>
#include <cstddef>
#include <span>

#include "kernels/activation/activation.h"

namespace dtnn::reference {

inline double Activate(ActivationKind kind, double x) {
  switch (kind) {
    case ActivationKind::kRelu:
      return x < 0 ? 0 : x;  // a NaN stays one
    case ActivationKind::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case ActivationKind::kTanh:
      return std::tanh(x);
    case ActivationKind::kLeakyRelu:
      return x > 0 ? x : kLeakySlope * x;
    case ActivationKind::kRelu6:
      return x < 0 ? 0 : x > 6 ? 6 : x;
    case ActivationKind::kArctanh:
      return std::atanh(x);
    case ActivationKind::kLog:
      return x > 0 ? -std::log1p(std::exp(-x)) : x - std::log1p(std::exp(x));
  }
  return 0;
}

// The derivative at the point where the activation has the value y.
inline double ActivationSlope(ActivationKind kind, double y) {
  if (std::isnan(y)) return y;
  switch (kind) {
    case ActivationKind::kRelu:
      return y > 0 ? 1 : 0;
    case ActivationKind::kSigmoid:
      return y * (1 - y);
    case ActivationKind::kTanh:
      return 1 - y * y;
    case ActivationKind::kLeakyRelu:
      return y > 0 ? 1 : kLeakySlope;
    case ActivationKind::kRelu6:
      return y > 0 && y < 6 ? 1 : 0;
    case ActivationKind::kArctanh:
      return std::cosh(y) * std::cosh(y);
    case ActivationKind::kLog:
      return -std::expm1(y);
  }
  return 0;
}

inline void ActivationForward(ActivationKind kind, std::span<const double> x, std::span<double> y) {
  for (size_t i = 0; i < x.size(); ++i) y[i] = Activate(kind, x[i]);
}

inline void ActivationBackward(ActivationKind kind, std::span<const double> y,
                               std::span<const double> dy, std::span<double> dx, bool accumulate) {
  for (size_t i = 0; i < y.size(); ++i) {
    dx[i] = (accumulate ? dx[i] : 0) + dy[i] * ActivationSlope(kind, y[i]);
  }
}

}  // namespace dtnn::reference

#endif  // DTNN_KERNELS_ACTIVATION_REFERENCE_H_
