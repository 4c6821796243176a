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
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
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
  // Epochs that a trainer had done before they began: their factors count steps from there. A run
  // that is resumed has done its own.
  int64_t first_epoch = 0;
  // A line for the user; null: it is dropped.
  std::function<void(std::string_view line)> say = {};
  // Writes `values` (as ParameterStore::all_values) of the end of `epoch`, which `owner` kept, and
  // returns the file's name; then deletes `previous`, the name without its folder of what the owner
  // had written before, if anything that nobody else needs. Needed by schedulers that save.
  std::function<absl::StatusOr<std::string>(std::string_view owner, const EpochRecord& epoch,
                                            const Tensor& values, const std::string& previous)>
      save = {};
};

// Schedulers whose best values are of other metrics than those that come now.
struct ForgetfulSchedulers {
  bool all = false;                                // that watch a metric
  bool training = false;                           // or that watch one of training
  std::set<std::string, std::less<>> owners = {};  // or those
};

class Schedule : public Callback, private SchedulerHost {
 public:
  // Trainer, store and context must outlive the schedule.
  Schedule(Trainer& trainer, ParameterStore& store, DeviceContext& context,
           ScheduleOptions options);

  absl::Status OnBatchBegin(const Pass& pass) override;
  absl::Status OnEpochEnd(const Pass& training, const Pass* validation) override;

  // At the end of a run that reached its last epoch, `epochs`, and was not stopped: see
  // Scheduler::OnRunEnd.
  absl::Status EndRun(int64_t epochs);
  // Whether the last epoch was the last of the run, by its number or since a scheduler ended it.
  bool ended() const { return ends_; }
  // The earlier epoch whose parameters the run ended with; nullopt: it ended with its last.
  const std::optional<EpochRecord>& restored() const { return restored_; }
  // That of a run that ended before, for one that finds nothing left to train.
  void set_restored(std::optional<EpochRecord> epoch) { restored_ = std::move(epoch); }

  // What the schedulers make of the learning rate in that step.
  double FactorIn(const ScheduleStep& step) const;

  // The state of the schedulers, for a checkpoint: numbers, and the parameters that they keep. A
  // state that has ended stays so only if a scheduler ended it, or the last epoch: what another
  // callback stopped, a run that resumes continues.
  void AddTo(TrainingState& state) const;
  const std::map<std::string, Tensor, std::less<>>& kept() const { return kept_; }
  // Restores both, but nothing of `forgetful` schedulers, whose names it returns.
  // InvalidArgument, before anything changes, for the state of other schedulers.
  absl::StatusOr<std::vector<std::string>> Restore(
      const TrainingState& state, const std::map<std::string, Tensor, std::less<>>& kept,
      const ForgetfulSchedulers& forgetful = {});

 private:
  double learning_rate() const override { return trainer_->learning_rate(); }
  void set_learning_rate(double rate) override { trainer_->set_learning_rate(rate); }
  void Stop() override;
  void Say(std::string_view line) override;
  absl::Status KeepParameters() override;
  absl::Status RestoreParameters(int64_t epoch) override;
  absl::StatusOr<std::string> SaveParameters(int64_t epoch) override;

  absl::Status BringBack(const std::string& owner);
  EpochRecord KeptEpoch(int64_t epoch) const;

  Trainer* trainer_;
  ParameterStore* store_;
  DeviceContext* context_;
  ScheduleOptions options_;
  std::vector<std::string> owners_;  // what each scheduler goes by
  std::string acting_;               // of the one whose turn it is
  bool ends_ = false;                // the run, with this epoch, unless it is only interrupted
  EpochRecord now_;                  // the epoch that schedulers are shown
  std::string restoring_;            // whose parameters the epoch ends with; empty: its own
  std::optional<EpochRecord> restored_;
  std::map<std::string, Tensor, std::less<>> kept_;  // by owner
  std::map<std::string, EpochRecord, std::less<>> kept_epochs_;
  std::map<std::string, std::string, std::less<>> files_;  // written last, by owner
};

// Ends the schedule's run after a training that reached its last epoch. Must come after what saves
// the epoch among the callbacks.
class EndOfRun : public Callback {
 public:
  EndOfRun(const Trainer& trainer, Schedule& schedule) : trainer_(trainer), schedule_(schedule) {}
  absl::Status OnEpochEnd(const Pass& training, const Pass* /*validation*/) override {
    const bool last = training.epoch + 1 == training.epochs && !trainer_.stopped();
    return last ? schedule_.EndRun(training.epochs) : absl::OkStatus();
  }

 private:
  const Trainer& trainer_;
  Schedule& schedule_;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_CALLBACKS_SCHEDULE_H_
