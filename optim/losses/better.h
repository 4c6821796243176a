// Which values of a figure (a loss, a metric) are better: what decides which epoch of a run was its
// best. Every figure says it itself.

#ifndef DTNN_OPTIM_LOSSES_BETTER_H_
#define DTNN_OPTIM_LOSSES_BETTER_H_

#include <cstdint>

namespace dtnn {

enum class Better : uint8_t { kSmaller, kLarger };

// Whether `value` is strictly better than `other`. NaN never is.
constexpr bool IsBetter(Better better, double value, double other) {
  return better == Better::kLarger ? value > other : value < other;
}

}  // namespace dtnn

#endif  // DTNN_OPTIM_LOSSES_BETTER_H_
