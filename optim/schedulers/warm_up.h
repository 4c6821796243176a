// A linear ramp: step k = 0, 1, ... of the first W runs at (k + 1) / W of its rate, later ones at
// all of it (Goyal et al., "Accurate, Large Minibatch SGD", 2017, gradual warm-up). W is `batches`
// where that is given, otherwise `epochs` times the steps of an epoch.

#ifndef DTNN_OPTIM_SCHEDULERS_WARM_UP_H_
#define DTNN_OPTIM_SCHEDULERS_WARM_UP_H_

#include "optim/schedulers/scheduler.h"

namespace dtnn {

struct WarmUpOptions {
  int64_t batches = 0;  // 0: by epochs
  int64_t epochs = 5;   // >= 0
};

class WarmUp : public Scheduler {
 public:
  explicit WarmUp(const WarmUpOptions& options = {}) : options_(options) {}
  std::string_view name() const override { return "warm_up"; }
  double Factor(const ScheduleStep& step) const override {
    const double length = options_.batches > 0
                              ? double(options_.batches)
                              : double(options_.epochs) * double(step.steps_per_epoch);
    const double done = double(step.step) + 1;
    return done < length ? done / length : 1;
  }

 private:
  WarmUpOptions options_;
};

}  // namespace dtnn

#endif  // DTNN_OPTIM_SCHEDULERS_WARM_UP_H_
