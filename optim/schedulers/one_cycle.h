// One cycle (Smith, "A disciplined approach to neural network hyper-parameters", 2018): the rate
// rises to the one given, its maximum, then falls far below where it started. The constants are
// those in common use: a linear rise from 1/25 over 30 % of the steps, then half a cosine down to
// 1/250000. Momentum stays as it is.

#ifndef DTNN_OPTIM_SCHEDULERS_ONE_CYCLE_H_
#define DTNN_OPTIM_SCHEDULERS_ONE_CYCLE_H_

#include <cmath>
#include <numbers>

#include "optim/schedulers/scheduler.h"

namespace dtnn {

struct OneCycleOptions {
  double rise = 0.3;        // share of the steps, in [0, 1]
  double start = 1.0 / 25;  // of the maximum, as `end`
  double end = 1.0 / 250000;
};

class OneCycle : public Scheduler {
 public:
  explicit OneCycle(const OneCycleOptions& options = {}) : options_(options) {}
  std::string_view name() const override { return "one_cycle"; }
  double Factor(const ScheduleStep& step) const override {
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

 private:
  OneCycleOptions options_;
};

}  // namespace dtnn

#endif  // DTNN_OPTIM_SCHEDULERS_ONE_CYCLE_H_
