// Ends training when a metric has not improved by more than `min_delta` for `patience` epochs, and
// restores the parameters of its best epoch; it does so too at the end of a run that ends before.
// The best epoch is the latest that improved by more than that.

#ifndef DTNN_OPTIM_SCHEDULERS_EARLY_STOPPING_H_
#define DTNN_OPTIM_SCHEDULERS_EARLY_STOPPING_H_

#include <string>

#include "optim/losses/better.h"
#include "optim/schedulers/best_value.h"
#include "optim/schedulers/scheduler.h"

namespace dtnn {

struct EarlyStoppingOptions {
  std::string metric = "val_categorical_cross_entropy";
  Better better = Better::kSmaller;  // of the metric
  int64_t patience = 10;             // epochs, >= 1
  double min_delta = 0;              // in units of the metric, >= 0
};

class EarlyStopping : public Scheduler {
 public:
  explicit EarlyStopping(const EarlyStoppingOptions& options = {});
  std::string_view name() const override { return "early_stopping"; }
  std::string_view watched() const override { return options_.metric; }
  absl::Status OnEpochEnd(const EpochMetrics& metrics, SchedulerHost& host) override;
  absl::Status OnRunEnd(int64_t epochs, SchedulerHost& host) override;
  std::vector<double> State() const override;
  absl::Status Restore(std::span<const double> state) override;

 private:
  absl::Status RestoreBest(SchedulerHost& host) const;

  EarlyStoppingOptions options_;
  BestValue best_;
  int64_t best_epoch_ = 0;  // 0: none yet
};

}  // namespace dtnn

#endif  // DTNN_OPTIM_SCHEDULERS_EARLY_STOPPING_H_
