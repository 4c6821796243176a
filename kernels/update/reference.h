// The optimizers' update of one parameter in double precision: the definition that implementations
// are tested against.

#ifndef DTNN_KERNELS_UPDATE_REFERENCE_H_
#define DTNN_KERNELS_UPDATE_REFERENCE_H_

#include <cmath>
#include <cstdint>

#include "kernels/update/update.h"

namespace dtnn::reference {

inline void UpdateSgd(const UpdateSpec& spec, double& w, double g, double& v, double rate) {
  v = spec.momentum * v + g;
  w -= rate * (spec.decay * w + (spec.nesterov ? g + spec.momentum * v : v));
}

inline void UpdateAdam(const UpdateSpec& spec, double& w, double g, double& m, double& v,
                       double rate, int64_t step) {
  m = spec.beta1 * m + (1 - spec.beta1) * g;
  v = spec.beta2 * v + (1 - spec.beta2) * g * g;
  const double m_hat = m / (1 - std::pow(spec.beta1, double(step)));
  const double v_hat = v / (1 - std::pow(spec.beta2, double(step)));
  w -= rate * (spec.decay * w + m_hat / std::sqrt(v_hat + spec.epsilon));
}

}  // namespace dtnn::reference

#endif  // DTNN_KERNELS_UPDATE_REFERENCE_H_
