// Multiplies the learning rate by `factor` whenever a metric has not improved for `patience`
// epochs. A step that would lead below `min_lr` is not taken at all: from 0.01 by halves, a minimum
// of 0.001 ends at 0.00125.

#ifndef DTNN_OPTIM_SCHEDULERS_REDUCE_LR_ON_PLATEAU_H_
#define DTNN_OPTIM_SCHEDULERS_REDUCE_LR_ON_PLATEAU_H_

#include <string>

#include "optim/losses/better.h"
#include "optim/schedulers/best_value.h"
#include "optim/schedulers/scheduler.h"

namespace dtnn {

struct ReduceLrOnPlateauOptions {
  std::string metric = "val_categorical_cross_entropy";
  Better better = Better::kSmaller;  // of the metric
  double factor = 0.1;               // (0, 1)
  int64_t patience = 5;              // epochs, >= 1
  double min_lr = 0;                 // >= 0
};

class ReduceLrOnPlateau : public Scheduler {
 public:
  explicit ReduceLrOnPlateau(const ReduceLrOnPlateauOptions& options = {});
  std::string_view name() const override { return "reduce_lr_on_plateau"; }
  std::string_view watched() const override { return options_.metric; }
  absl::Status OnEpochEnd(const EpochMetrics& metrics, SchedulerHost& host) override;
  std::vector<double> State() const override;
  absl::Status Restore(std::span<const double> state) override;

 private:
  ReduceLrOnPlateauOptions options_;
  BestValue best_;
  int64_t since_ = 0;  // epoch of the best value or of the last reduction
};

}  // namespace dtnn

#endif  // DTNN_OPTIM_SCHEDULERS_REDUCE_LR_ON_PLATEAU_H_
