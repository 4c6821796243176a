#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "comm/ranks/job/exit_code.h"
#include "comm/ranks/job/ranks.h"
#include "models/checkpoint/run_identity.h"
#include "models/run/initial_weights.h"
#include "models/run/parts/make_schedulers.h"
#include "models/run/parts/make_trainer_options.h"
#include "models/run/parts/run_identity.h"
#include "models/run/parts/same_options.h"
#include "models/run/prepare/kept_models.h"
#include "models/run/run_work.h"
#include "tensor/errors.h"
#include "tensor/files/array_file.h"
#include "tensor/status_macros.h"
#include "tensor/text/counted.h"
#include "tensor/text/str_cat.h"

namespace dtnn {

absl::Status RunWork::GetReady() {
  if (lasting_ == nullptr && !given_.ranks.elastic.empty()) {
    return UsageError("RunOptions::ranks.elastic=", given_.ranks.elastic,
                      ": ranks of a Run stay; ExecuteOnRanks (execute_on_ranks.h) is for ranks "
                      "that come and go");
  }
  log_.set_muted(run_.goes_on && lasting_->dataset != nullptr);
  if (lasting_ != nullptr && lasting_->dataset != nullptr) run_.dataset = lasting_->dataset;
  if (run_.communicator != nullptr && lasting_ == nullptr) {
    DTNN_RETURN_IF_ERROR(Agree(run_.communicator, CompareOptions(*run_.communicator, given_)));
  }
  DTNN_RETURN_IF_ERROR(run_.Prepare(log_));
  DTNN_RETURN_IF_ERROR(FindRate());
  if (lasting_ != nullptr) lasting_->dataset = run_.dataset;
  DTNN_RETURN_IF_ERROR(Agree(run_.communicator, Allocate()));
  DTNN_RETURN_IF_ERROR(Agree(run_.communicator, Begin()));
  DTNN_RETURN_IF_ERROR(Agree(run_.communicator, CheckPlace()));
  DTNN_RETURN_IF_ERROR(trace_.Begin(run_.graph, *store_));
  log_.set_muted(false);
  return absl::OkStatus();
}

TrainerOptions RunWork::Training() {
  TrainerOptions options =
      MakeTrainerOptions(run_.options, run_.metric_set, run_.optimizer, run_.communicator);
  options.training_loss = run_.training_loss;
  if (run_.best_of) options.best_of = &*run_.best_of;
  options.reducer.collectives = run_.collectives.get();
  options.reducer.sum = run_.encrypted_sum;
  return options;
}

// What is left to go wrong now is memory.
absl::Status RunWork::Allocate() {
  DTNN_ASSIGN_OR_RETURN(
      store_, ParameterStore::Create(run_.graph, *run_.context, ElementTypeOf(run_.options),
                                     uint64_t(run_.options.training.seed)));
  DTNN_ASSIGN_OR_RETURN(trainer_, Trainer::Create(run_.graph, *store_, *run_.context, Training()));
  const bool schedules = !run_.options.training.evaluate_only && run_.proximal == nullptr;
  if (schedules) {
    DTNN_RETURN_IF_ERROR(MakeSchedule());
    for (const std::string& line : DescribeMinimums(run_.options, run_.ranks)) log_.Warn(line);
  }
  if (!run_.options.checkpoint.folder.empty() && run_.proximal == nullptr) MakeCheckpointer();
  if (checkpointer_ || !run_.options.output.model.empty()) {  // before training, not after it
    DTNN_RETURN_IF_ERROR(CheckModelTags(ModelTags(Saved(Now()))));
  }
  if (schedules && (checkpointer_ || generation_)) epoch_ends_.emplace(*trainer_, *schedule_);
  return absl::OkStatus();
}

absl::Status RunWork::MakeSchedule() {
  const std::vector<Shared<Scheduler>>& own = run_.objects.schedulers;
  DTNN_ASSIGN_OR_RETURN(
      std::vector<std::shared_ptr<Scheduler>> schedulers,
      MakeSchedulers(run_.options, run_.metric_set, run_.loaders.validation != nullptr, run_.ranks,
                     {own.begin(), own.end()}));
  for (size_t i = 0; i < own.size(); ++i) {
    if (fresh_.size() < own.size()) fresh_.push_back(own[i]->State());
    DTNN_RETURN_IF_ERROR(own[i]->Restore(fresh_[i]));
  }
  schedule_.emplace(
      *trainer_, *store_, *run_.context,
      ScheduleOptions{.schedulers = std::move(schedulers),
                      .first_epoch = trainer_->epochs_done(),
                      .say = [this](std::string_view line) { log_.Print(StrCat(line, "\n")); },
                      .save =
                          [this, shared = run_.options.ranks.shared_storage](
                              std::string_view, const EpochRecord& epoch, const Tensor& values,
                              const std::string& previous) {
                            const KeptModels kept = {.folder = run_.options.schedule.model_folder,
                                                     .date = run_.date,
                                                     .tags = ModelTags(Saved(epoch)),
                                                     .ranks = shared ? run_.communicator : nullptr};
                            return KeepModel(kept, epoch.epoch, run_.graph, *store_, *run_.context,
                                             values, previous);
                          }});
  return absl::OkStatus();
}

absl::Status RunWork::PlanEpochs(int64_t epochs) {
  if (epochs < 0) return InvalidArgument("Run::Fit(", epochs, "): expected 0 epochs or more");
  const int64_t done = trainer_->epochs_done();
  const int64_t most = std::numeric_limits<int64_t>::max() - done;
  if (epochs > most) {
    return InvalidArgument("Run::Fit(", epochs, "): expected ", most, " epochs or fewer after ",
                           Counted(done, "epoch"));
  }
  if (!run_.options.checkpoint.folder.empty()) {
    return FailedPrecondition(
        "Run::Fit(n): a run with RunOptions::checkpoint.folder trains "
        "RunOptions::training.epochs; to train longer, resume it with a larger number");
  }
  if (run_.proximal != nullptr) {
    return FailedPrecondition("Run::Fit(n): the aggregator decides how long clients train");
  }
  run_.options.training.epochs = done + epochs;
  return done == 0 ? absl::OkStatus() : MakeSchedule();
}

void RunWork::MakeCheckpointer() {
  checkpointer_.emplace(
      Parts(),
      CheckpointerOptions{.folder = run_.checkpoint_folder,
                          .every_epochs = run_.options.checkpoint.every_epochs,
                          .every_steps = run_.options.checkpoint.every_steps,
                          .writes = run_.WritesCheckpoints(),
                          .say = [this](std::string_view line) { log_.WarnOfCheckpoint(line); }});
}

RunParts RunWork::Parts() {
  return {.graph = &run_.graph,
          .store = store_.get(),
          .context = run_.context.get(),
          .trainer = trainer_.get(),
          .schedule = schedule_ ? &*schedule_ : nullptr,
          .optimizer = run_.options.optimizer.name,
          .identity = Identity(),
          .first_rate = [this](int64_t ranks) { return InitialLearningRate(run_.options, ranks); },
          .tags = [this] { return ModelTags(Saved(Now())); }};
}

// From a checkpoint, which all ranks choose together, from a file, or from nothing.
absl::Status RunWork::Begin() {
  if (run_.goes_on) return GoOn();
  DTNN_RETURN_IF_ERROR(ResumesRun() ? Resume() : LoadInitialWeights(run_, *store_, log_));
  const bool keeps = run_.Writes() || lasting_ != nullptr;  // any rank may have to write one day
  if (run_.options.output.history.empty() || run_.options.training.evaluate_only || !keeps) {
    return absl::OkStatus();
  }
  DTNN_ASSIGN_OR_RETURN(history_,
                        History::Create(run_.options.output.history, *trainer_, run_.metric_set,
                                        run_.loaders.validation != nullptr, trainer_->epochs_done(),
                                        [this](std::string_view line) { log_.Warn(line); }));
  history_->set_writes(run_.Writes());
  return absl::OkStatus();
}

// With what ranks have kept.
absl::Status RunWork::GoOn() {
  DTNN_ASSIGN_OR_RETURN(const std::string history, generation_->TakeOver());
  if (lasting_->over || run_.options.output.history.empty()) return absl::OkStatus();
  DTNN_ASSIGN_OR_RETURN(
      history_,
      History::Continue(run_.options.output.history, *trainer_, history, trainer_->epochs_done(),
                        run_.Writes(), [this](std::string_view line) { log_.Warn(line); }));
  return absl::OkStatus();
}

// Whether the epoch that a checkpoint left can be continued.
absl::Status RunWork::CheckPlace() {
  if (!ResumesRun() && !run_.goes_on) return absl::OkStatus();
  if (!run_.goes_on && trainer_->epochs_done() >= run_.options.training.epochs) {
    log_.Warn(StrCat("RunOptions::checkpoint.resume: all epochs of RunOptions::training.epochs=",
                     run_.options.training.epochs,
                     " are already done; to continue, give a larger number"));
  }
  return trainer_->BeginEpochs(*run_.loaders.training);
}

absl::Status RunWork::Resume() {
  DTNN_RETURN_IF_ERROR(trainer_->PrepareForTraining(run_.loaders.training->max_batch()));
  DTNN_ASSIGN_OR_RETURN(const std::string path,
                        WithContext(checkpointer_->Resume(), "RunOptions::checkpoint.folder"));
  if (path.empty() && run_.options.checkpoint.resume != Resume::kIfThere) {
    return NotFound(
        "RunOptions::checkpoint.resume: ", run_.options.checkpoint.folder,
        " contains no checkpoint; RunOptions::checkpoint.resume=if-there starts a new run then");
  }
  if (path.empty()) {
    log_.Log(StrCat("**** ", run_.options.checkpoint.folder,
                    " contains no checkpoint; starting a new run\n"));
    DTNN_RETURN_IF_ERROR(LoadInitialWeights(run_, *store_, log_));
  } else {
    if (const absl::Status status = TakeLastMetrics(path); !status.ok()) {
      log_.Warn(
          StrCat("RunOptions::checkpoint.resume: the metrics of the last epoch are not known: ",
                 status.message()));
    }
    log_.Log(StrCat("**** Resuming from ", path, ", ", Counted(trainer_->steps_done(), "step"),
                    " done, learning rate ", trainer_->learning_rate(), "\n"));
  }
  return absl::OkStatus();
}

// The metrics of the epoch before the checkpoint, for a run that does not end another: its last, or
// the earlier one whose parameters it ended with.
absl::Status RunWork::TakeLastMetrics(const std::string& checkpoint) {
  DTNN_ASSIGN_OR_RETURN(ArrayFileReader file, ArrayFileReader::Open(checkpoint));
  DTNN_ASSIGN_OR_RETURN(const bool holds_model, HoldsModel(file));
  if (!holds_model) return absl::OkStatus();
  DTNN_ASSIGN_OR_RETURN(SavedModel model, ReadModel(file));
  TrainingRecord& record = model.description.training;
  if (record.run_epochs > record.epochs) {
    schedule_->set_restored(EpochRecord{.epoch = record.epochs, .metrics = record.metrics});
  }
  last_metrics_.Begin(std::move(record.metrics));
  return absl::OkStatus();
}

}  // namespace dtnn
