#include "optim/metrics/regression_mae.h"

#include <cmath>

#include "absl/strings/str_format.h"
#include "optim/losses/targets.h"

namespace dtnn {

void RegressionMae::Add(const Tensor& predictions, const Tensor& targets,
                        std::span<double> sums) const {
  DispatchFloating(predictions.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const int64_t outputs = predictions.shape()[1];
    const TargetRows<T> rows(targets);
    for (int64_t i = 0; i < predictions.shape()[0]; ++i) {
      const T* p = predictions.data<T>() + i * predictions.RowPitch();
      double sum = 0;
      for (int64_t j = 0; j < outputs; ++j) sum += std::abs(rows.At(i, j) - double(p[j]));
      sums[0] += sum / double(outputs);
    }
  });
}

std::string RegressionMae::Format(std::string_view prefix, double value) const {
  return absl::StrFormat("%smae: %.7f", std::string(prefix), value);
}

}  // namespace dtnn
