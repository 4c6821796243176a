#include "kernels/batch_norm/fold.h"

#include <cmath>

namespace dtnn {

void FoldBatchNorm(const BatchNormParameters& parameters, const RunningStatistics& running,
                   double epsilon, const Tensor& bias, const Tensor& scale, const Tensor& shift) {
  DispatchFloating(scale.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t c = 0; c < scale.num_elements(); ++c) {
      const auto at = [c](const Tensor& tensor) { return double(tensor.data<T>()[c]); };
      const double variance = at(running.variance.tensor);
      const double factor =
          at(parameters.gamma.tensor) / std::sqrt((variance < 0 ? 0 : variance) + epsilon);
      const double added = (bias.empty() ? 0 : at(bias)) - at(running.mean.tensor);
      scale.data<T>()[c] = T(factor);
      shift.data<T>()[c] = T(added * factor + at(parameters.beta.tensor));
    }
  });
}

}  // namespace dtnn
