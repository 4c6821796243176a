#include "optim/metrics/top5_accuracy.h"

#include <cmath>

#include "absl/strings/str_format.h"
#include "optim/losses/targets.h"

namespace dtnn {
namespace {

template <typename T>
bool IsAmongFirst(const T* p, int64_t outputs, int64_t label, int64_t count) {
  if (std::isnan(p[label])) return false;
  int64_t before = 0;
  for (int64_t j = 0; j < outputs; ++j)
    before += p[j] > p[label] || (p[j] == p[label] && j < label);
  return before < count;
}

}  // namespace

void Top5Accuracy::Add(const Tensor& predictions, const Tensor& targets,
                       std::span<double> sums) const {
  DispatchFloating(predictions.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const int64_t outputs = predictions.shape()[1];
    const TargetRows<T> rows(targets);
    for (int64_t i = 0; i < predictions.shape()[0]; ++i) {
      const T* p = predictions.data<T>() + i * predictions.RowPitch();
      sums[0] += IsAmongFirst(p, outputs, rows.ClassOf(i), 5) ? 100 : 0;
    }
  });
}

std::string Top5Accuracy::Format(std::string_view prefix, double value) const {
  return absl::StrFormat("%stop5: %5.2f%%", std::string(prefix), value);
}

}  // namespace dtnn
