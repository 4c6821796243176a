// Keeps the best parameters in a file. After every `save_freq`-th epoch, and after the last one,
// those of the best epoch so far are written, unless they are there already; the host then deletes
// the file before. An improvement between two of these epochs is kept in memory until the next one.

#ifndef DTNN_OPTIM_SCHEDULERS_MODEL_CHECKPOINT_H_
#define DTNN_OPTIM_SCHEDULERS_MODEL_CHECKPOINT_H_

#include <string>

#include "optim/losses/better.h"
#include "optim/schedulers/best_value.h"
#include "optim/schedulers/scheduler.h"

namespace dtnn {

struct ModelCheckpointOptions {
  std::string metric = "val_categorical_cross_entropy";
  Better better = Better::kSmaller;  // of the metric
  int64_t save_freq = 2;             // epochs, >= 1
};

class ModelCheckpoint : public Scheduler {
 public:
  explicit ModelCheckpoint(const ModelCheckpointOptions& options = {});
  std::string_view name() const override { return "model_checkpoint"; }
  std::string_view watched() const override { return options_.metric; }
  absl::Status OnEpochEnd(const EpochMetrics& metrics, SchedulerHost& host) override;
  absl::Status OnTrainEnd(SchedulerHost& host) override { return SavePending(host); }
  std::vector<double> State() const override;
  absl::Status Restore(std::span<const double> state) override;

 private:
  absl::Status SavePending(SchedulerHost& host);

  ModelCheckpointOptions options_;
  BestValue best_;
  int64_t pending_epoch_ = 0;  // of the best parameters, where they are not written yet; else 0
};

}  // namespace dtnn

#endif  // DTNN_OPTIM_SCHEDULERS_MODEL_CHECKPOINT_H_
