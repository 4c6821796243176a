// Runs schedulers (optim/schedulers/scheduler.h) during training: scales the rate of every step by
// their factors, shows them the metrics of every epoch, and executes their requests. Requests that
// concern parameters are executed when all schedulers have seen the epoch.
//
// In checkpoints and files a scheduler is identified by its name, the second of the same name by
// "<name>-2", and so on.

#ifndef DTNN_MODELS_CALLBACKS_SCHEDULE_H_
#define DTNN_MODELS_CALLBACKS_SCHEDULE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "models/checkpoint/training_state.h"
#include "models/parameters/parameter_store.h"
#include "models/training/callback.h"
#include "models/training/trainer.h"
#include "optim/schedulers/scheduler.h"
#include "tensor/tensor.h"

namespace dtnn {

struct ScheduleOptions {
  std::vector<std::shared_ptr<Scheduler>> schedulers;  // in this order
  // A line for the user; null: it is dropped.
  std::function<void(std::string_view line)> say = {};
  // Writes `values` (as ParameterStore::all_values) of the end of `epoch`, which `owner` kept, and
  // returns the file's name; then deletes `previous`, the name without its folder of what the owner
  // had written before, if anything that nobody else needs. Needed by schedulers that save.
  std::function<absl::StatusOr<std::string>(std::string_view owner, int64_t epoch,
                                            const Tensor& values, const std::string& previous)>
      save = {};
};

class Schedule : public Callback, private SchedulerHost {
 public:
  // Trainer, store and context must outlive the schedule.
  Schedule(Trainer& trainer, ParameterStore& store, DeviceContext& context,
           ScheduleOptions options);

  absl::Status OnBatchBegin(const Pass& pass) override;
  absl::Status OnEpochEnd(const Pass& training, const Pass* validation) override;

  // The state of the schedulers, for a checkpoint: numbers, and the parameters that they keep.
  void AddTo(TrainingState& state) const;
  const std::map<std::string, Tensor, std::less<>>& kept() const { return kept_; }
  // Restores both. InvalidArgument, before anything changes, for the state of other schedulers.
  absl::Status Restore(const TrainingState& state,
                       const std::map<std::string, Tensor, std::less<>>& kept);

 private:
  double learning_rate() const override { return trainer_->learning_rate(); }
  void set_learning_rate(double rate) override { trainer_->set_learning_rate(rate); }
  void Stop() override;
  void Say(std::string_view line) override;
  absl::Status KeepParameters() override;
  absl::Status RestoreParameters() override;
  absl::StatusOr<std::string> SaveParameters(int64_t epoch) override;

  absl::Status BringBack(const std::string& owner);

  Trainer* trainer_;
  ParameterStore* store_;
  DeviceContext* context_;
  ScheduleOptions options_;
  std::vector<std::string> owners_;  // what each scheduler goes by
  std::string acting_;               // of the one whose turn it is
  bool ends_ = false;                // the run, with this epoch, unless it is only interrupted
  std::string restoring_;            // whose parameters the epoch ends with; empty: its own
  std::map<std::string, Tensor, std::less<>> kept_;        // by owner
  std::map<std::string, std::string, std::less<>> files_;  // written last, by owner
};

}  // namespace dtnn

#endif  // DTNN_MODELS_CALLBACKS_SCHEDULE_H_
