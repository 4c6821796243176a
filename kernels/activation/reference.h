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
      return x > 0 ? x : 0;
    case ActivationKind::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case ActivationKind::kTanh:
      return std::tanh(x);
  }
  return 0;
}

// The derivative at the point where the activation has the value y.
inline double ActivationSlope(ActivationKind kind, double y) {
  switch (kind) {
    case ActivationKind::kRelu:
      return y > 0 ? 1 : 0;
    case ActivationKind::kSigmoid:
      return y * (1 - y);
    case ActivationKind::kTanh:
      return 1 - y * y;
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
