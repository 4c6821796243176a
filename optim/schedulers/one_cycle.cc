#include "optim/schedulers/one_cycle.h"

#include <cmath>
#include <numbers>

namespace dtnn {

double OneCycle::Factor(const ScheduleStep& step) const {
  const int64_t last = step.total_steps - 1;
  if (last <= 0) return 1;  // a single step, or a run of unknown length
  const int64_t top = int64_t(std::floor(options_.rise * double(last)));
  if (step.step < top) {
    return options_.start + (1 - options_.start) * double(step.step) / double(top);
  }
  if (step.step >= last) return options_.end;
  const double done = double(step.step - top) / double(last - top);
  return options_.end + (1 - options_.end) * (1 + std::cos(std::numbers::pi * done)) / 2;
}

}  // namespace dtnn
