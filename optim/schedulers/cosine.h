// Half a cosine over the run, from the whole rate to `floor` of it (Loshchilov & Hutter, "SGDR",
// ICLR 2017, one cycle): floor + (1 - floor) * (1 + cos(pi * k / K)) / 2 in step k of K. A warm-up
// before it is a scheduler of its own.

#ifndef DTNN_OPTIM_SCHEDULERS_COSINE_H_
#define DTNN_OPTIM_SCHEDULERS_COSINE_H_

#include <cmath>
#include <numbers>

#include "optim/schedulers/scheduler.h"

namespace dtnn {

struct CosineOptions {
  double floor = 0;  // of the rate, in [0, 1]
};

class Cosine : public Scheduler {
 public:
  explicit Cosine(const CosineOptions& options = {}) : options_(options) {}
  std::string_view name() const override { return "cosine"; }
  double Factor(const ScheduleStep& step) const override {
    if (step.total_steps <= 0) return 1;
    if (step.step >= step.total_steps) return options_.floor;
    const double done = double(step.step) / double(step.total_steps);
    return options_.floor + (1 - options_.floor) * (1 + std::cos(std::numbers::pi * done)) / 2;
  }

 private:
  CosineOptions options_;
};

}  // namespace dtnn

#endif  // DTNN_OPTIM_SCHEDULERS_COSINE_H_
