// Multiplies the learning rate by `factor` after every n-th epoch. A step that would lead below
// `min_lr` is not taken at all, see reduce_lr_on_plateau.h.

#ifndef DTNN_OPTIM_SCHEDULERS_REDUCE_LR_EVERY_NEPOCHS_H_
#define DTNN_OPTIM_SCHEDULERS_REDUCE_LR_EVERY_NEPOCHS_H_

#include "optim/schedulers/scheduler.h"

namespace dtnn {

struct ReduceLrEveryNepochsOptions {
  double factor = 0.1;  // (0, 1)
  int64_t nepochs = 5;  // >= 1
  double min_lr = 0;    // >= 0
};

class ReduceLrEveryNepochs : public Scheduler {
 public:
  explicit ReduceLrEveryNepochs(const ReduceLrEveryNepochsOptions& options = {})
      : options_(options) {}
  std::string_view name() const override { return "reduce_lr_every_nepochs"; }
  absl::Status OnEpochEnd(const EpochMetrics& metrics, SchedulerHost& host) override;

 private:
  ReduceLrEveryNepochsOptions options_;
};

}  // namespace dtnn

#endif  // DTNN_OPTIM_SCHEDULERS_REDUCE_LR_EVERY_NEPOCHS_H_
