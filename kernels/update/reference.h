// The optimizers' update of one parameter in double precision: the definition that implementations
// are tested against.

#ifndef DTNN_KERNELS_UPDATE_REFERENCE_H_
#define DTNN_KERNELS_UPDATE_REFERENCE_H_

#include <algorithm>
#include <cmath>

#include "kernels/update/update.h"

namespace dtnn::reference {

// The direction that the rule adds to decay*w. Slots that a rule does not have are left alone.
inline double UpdateDirection(const UpdateSpec& spec, double g, double& first, double& second,
                              double step) {
  switch (spec.rule) {
    case UpdateRule::kSgd:
      first = spec.momentum * first + g;
      return spec.nesterov ? g + spec.momentum * first : first;
    case UpdateRule::kRmsprop:
      first = spec.rho * first + (1 - spec.rho) * g * g;
      return g / std::sqrt(first + spec.epsilon);
    case UpdateRule::kAdam:
    case UpdateRule::kNadam:
    case UpdateRule::kAdamw:
      break;
  }
  first = spec.beta1 * first + (1 - spec.beta1) * g;
  second = spec.beta2 * second + (1 - spec.beta2) * g * g;
  const double ahead = spec.rule == UpdateRule::kNadam ? (1 - spec.beta1) * g : 0;
  const double m_hat = (first + ahead) / (1 - std::pow(spec.beta1, step));
  const double v_hat = second / (1 - std::pow(spec.beta2, step));
  if (spec.rule == UpdateRule::kAdamw) return m_hat / (std::sqrt(v_hat) + spec.epsilon);
  return m_hat / std::sqrt(v_hat + spec.epsilon);
}

// The average of a parameter that is w after the step.
inline void UpdateAverage(const UpdateSpec& spec, double step, double w, double& average) {
  const double d = std::min(spec.average_decay, (1 + step) / (10 + step));
  average = d * average + (1 - d) * w;
}

// `decays` is false for parameters that spec.without_decay holds.
inline void UpdateParameter(const UpdateSpec& spec, const UpdateStep& step, bool decays,
                            double gradient, double& w, double& first, double& second) {
  const double direction =
      UpdateDirection(spec, step.gradient_scale * gradient, first, second, double(step.step));
  w -= step.learning_rate * ((decays ? spec.decay : 0) * w + direction);
}

}  // namespace dtnn::reference

#endif  // DTNN_KERNELS_UPDATE_REFERENCE_H_
