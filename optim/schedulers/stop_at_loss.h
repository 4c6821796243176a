// Ends training once a metric is beyond a threshold: above it where larger is better, below it
// otherwise.

#ifndef DTNN_OPTIM_SCHEDULERS_STOP_AT_LOSS_H_
#define DTNN_OPTIM_SCHEDULERS_STOP_AT_LOSS_H_

#include <string>

#include "optim/losses/better.h"
#include "optim/schedulers/scheduler.h"

namespace dtnn {

struct StopAtLossOptions {
  std::string metric = "val_categorical_accuracy";
  Better better = Better::kLarger;  // of the metric
  double threshold = 0;
};

class StopAtLoss : public Scheduler {
 public:
  explicit StopAtLoss(const StopAtLossOptions& options = {}) : options_(options) {}
  std::string_view name() const override { return "stop_at_loss"; }
  std::string_view watched() const override { return options_.metric; }
  absl::Status OnEpochEnd(const EpochMetrics& metrics, SchedulerHost& host) override;

 private:
  StopAtLossOptions options_;
};

}  // namespace dtnn

#endif  // DTNN_OPTIM_SCHEDULERS_STOP_AT_LOSS_H_
