// The step that schedulers which reduce learning rates share.

#ifndef DTNN_OPTIM_SCHEDULERS_REDUCE_LR_H_
#define DTNN_OPTIM_SCHEDULERS_REDUCE_LR_H_

#include "optim/schedulers/scheduler.h"

namespace dtnn {

// Multiplies the host's learning rate by `factor` and says whether it did: not where the result
// would be below `min_lr`. (0.7 * 0.1 rounds to less than 0.07 and does not count as below it.)
inline bool ReduceLearningRate(SchedulerHost& host, double factor, double min_lr) {
  const double rate = host.learning_rate() * factor;
  if (rate < min_lr * (1 - 1e-12)) return false;
  host.set_learning_rate(rate);
  return true;
}

}  // namespace dtnn

#endif  // DTNN_OPTIM_SCHEDULERS_REDUCE_LR_H_
