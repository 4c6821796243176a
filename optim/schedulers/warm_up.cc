#include "optim/schedulers/warm_up.h"

namespace dtnn {

double WarmUp::Factor(const ScheduleStep& step) const {
  const double length = options_.batches > 0
                            ? double(options_.batches)
                            : double(options_.epochs) * double(step.steps_per_epoch);
  const double done = double(step.step) + 1;
  return done < length ? done / length : 1;
}

}  // namespace dtnn
