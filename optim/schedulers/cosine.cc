#include "optim/schedulers/cosine.h"

#include <cmath>
#include <numbers>

namespace dtnn {

double Cosine::Factor(const ScheduleStep& step) const {
  if (step.total_steps <= 0) return 1;
  if (step.step >= step.total_steps) return options_.floor;
  const double done = double(step.step) / double(step.total_steps);
  return options_.floor + (1 - options_.floor) * (1 + std::cos(std::numbers::pi * done)) / 2;
}

}  // namespace dtnn
