#include "optim/metrics/categorical_hinge.h"

#include <cmath>

#include "absl/strings/str_format.h"
#include "optim/losses/targets.h"

namespace dtnn {

void CategoricalHinge::Add(const Tensor& predictions, const Tensor& targets,
                           std::span<double> sums) const {
  DispatchFloating(predictions.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const int64_t outputs = predictions.shape()[1];
    const TargetRows<T> rows(targets);
    for (int64_t i = 0; i < predictions.shape()[0]; ++i) {
      const T* p = predictions.data<T>() + i * predictions.RowPitch();
      const int64_t label = rows.ClassOf(i);
      // As the formula has it, max((1 - t) * p): the label itself takes part with 0.
      double other = 0;
      for (int64_t j = 0; j < outputs && !std::isnan(other); ++j) {
        if (j != label && !(double(p[j]) <= other)) other = double(p[j]);
      }
      const double hinge = other - double(p[label]) + 1;
      sums[0] += hinge <= 0 ? 0 : hinge;
    }
  });
}

std::string CategoricalHinge::Format(std::string_view prefix, double value) const {
  return absl::StrFormat("%shin: %.7f", std::string(prefix), value);
}

}  // namespace dtnn
