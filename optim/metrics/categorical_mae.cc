#include "optim/metrics/categorical_mae.h"

#include <cmath>

#include "absl/strings/str_format.h"
#include "optim/losses/targets.h"

namespace dtnn {

void CategoricalMae::Add(const Tensor& predictions, const Tensor& targets,
                         std::span<double> sums) const {
  DispatchFloating(predictions.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const TargetRows<T> rows(targets);
    for (int64_t i = 0; i < predictions.shape()[0]; ++i) {
      const T* p = predictions.data<T>() + i * predictions.RowPitch();
      sums[0] += std::abs(1 - double(p[rows.ClassOf(i)]));
    }
  });
}

std::string CategoricalMae::Format(std::string_view prefix, double value) const {
  return absl::StrFormat("%smae: %.7f", std::string(prefix), value);
}

}  // namespace dtnn
