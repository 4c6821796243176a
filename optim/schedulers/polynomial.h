// A power of what is left of the run, from the whole rate to `floor` of it (Chen et al., "DeepLab",
// IEEE TPAMI 2018, the "poly" policy): floor + (1 - floor) * (1 - k / K)^power in step k of K.
// Power 1 is a straight line.

#ifndef DTNN_OPTIM_SCHEDULERS_POLYNOMIAL_H_
#define DTNN_OPTIM_SCHEDULERS_POLYNOMIAL_H_

#include <cmath>

#include "optim/schedulers/scheduler.h"

namespace dtnn {

struct PolynomialOptions {
  double power = 1;  // > 0
  double floor = 0;  // of the rate, in [0, 1]
};

class Polynomial : public Scheduler {
 public:
  explicit Polynomial(const PolynomialOptions& options = {}) : options_(options) {}
  std::string_view name() const override { return "polynomial"; }
  double Factor(const ScheduleStep& step) const override {
    if (step.total_steps <= 0) return 1;
    if (step.step >= step.total_steps) return options_.floor;
    const double left = 1 - double(step.step) / double(step.total_steps);
    return options_.floor + (1 - options_.floor) * std::pow(left, options_.power);
  }

 private:
  PolynomialOptions options_;
};

}  // namespace dtnn

#endif  // DTNN_OPTIM_SCHEDULERS_POLYNOMIAL_H_
