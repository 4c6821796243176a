#include "optim/metrics/categorical_accuracy.h"

#include <algorithm>

#include "absl/strings/str_format.h"

namespace dtnn {

void CategoricalAccuracy::Add(const Tensor& predictions, const Tensor& targets,
                              std::span<double> sums) const {
  int64_t correct = 0;
  DispatchFloating(predictions.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const int64_t classes = predictions.shape()[1];
    for (int64_t i = 0; i < predictions.shape()[0]; ++i) {
      const T* row = predictions.data<T>() + i * predictions.RowPitch();
      correct += std::max_element(row, row + classes) - row == targets.data<int32_t>()[i];
    }
  });
  sums[0] += 100.0 * double(correct);
}

std::string CategoricalAccuracy::Format(std::string_view prefix, double value) const {
  return absl::StrFormat("%sacc: %5.2f%%", std::string(prefix), value);
}

}  // namespace dtnn
