// Whether smaller or larger values of a loss or a metric are better, which decides which epoch of a
// run was its best. Each loss and each metric says it itself.

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
