// Half a cosine over the run, from the whole rate to `floor` of it (Loshchilov & Hutter, "SGDR",
// ICLR 2017): floor + (1 - floor) * (1 + cos(pi * k / K)) / 2 in step k of K. With restarts, K is
// the length of a cycle: the first has `restart_epochs` epochs, each one after it `restart_growth`
// times as many as the one before, and each begins with the whole rate. A warm-up before it is a
// scheduler of its own.

#ifndef DTNN_OPTIM_SCHEDULERS_COSINE_H_
#define DTNN_OPTIM_SCHEDULERS_COSINE_H_

#include <cmath>
#include <numbers>

#include "optim/schedulers/scheduler.h"

namespace dtnn {

struct CosineOptions {
  double floor = 0;            // of the rate, in [0, 1]
  int64_t restart_epochs = 0;  // 0: one cycle over the run
  int64_t restart_growth = 1;  // >= 1
};

class Cosine : public Scheduler {
 public:
  explicit Cosine(const CosineOptions& options = {}) : options_(options) {}
  std::string_view name() const override { return "cosine"; }
  double Factor(const ScheduleStep& step) const override {
    double cycle = double(step.total_steps), at = double(step.step);
    if (options_.restart_epochs > 0) {
      cycle = double(options_.restart_epochs) * double(step.steps_per_epoch);
      if (cycle > 0 && options_.restart_growth == 1) at = std::fmod(at, cycle);
      while (cycle > 0 && at >= cycle) {
        at -= cycle;
        cycle *= double(options_.restart_growth);
      }
    }
    if (cycle <= 0) return 1;
    if (at >= cycle) return options_.floor;
    return options_.floor +
           (1 - options_.floor) * (1 + std::cos(std::numbers::pi * (at / cycle))) / 2;
  }

 private:
  CosineOptions options_;
};

}  // namespace dtnn

#endif  // DTNN_OPTIM_SCHEDULERS_COSINE_H_
