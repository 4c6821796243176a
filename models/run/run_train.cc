#include <algorithm>
#include <functional>
#include <utility>

#include "comm/ranks/job/exit_code.h"
#include "comm/ranks/job/rank_report.h"
#include "comm/ranks/job/ranks.h"
#include "models/callbacks/stop_on_signal.h"
#include "models/run/federated/train_federated.h"
#include "models/run/parts/rank_options.h"
#include "models/run/prepare/descriptions.h"
#include "models/run/run_work.h"
#include "models/run/tables/memory_table.h"
#include "models/run/tables/run_speed.h"
#include "tensor/errors.h"
#include "tensor/status_macros.h"
#include "tensor/stopwatch.h"
#include "tensor/text/counted.h"
#include "tensor/text/str_cat.h"
#include "tensor/trace/observer.h"

namespace dtnn {
namespace {

// What a run that is stopped within an epoch says.
std::string DescribeEpsilon(std::optional<double> epsilon) {
  return epsilon ? StrCat(", with ", kEpsilonName, " ", *epsilon) : "";
}

}  // namespace

absl::Status RunWork::Train() {
  const ScopedObserver watching = trace_.Watch();
  std::vector<Callback*> callbacks;
  if (epoch_ends_) callbacks.push_back(&*epoch_ends_);
  callbacks.push_back(&performance_);
  callbacks.insert(callbacks.end(), run_.objects.callbacks.begin(), run_.objects.callbacks.end());
  callbacks.push_back(&last_metrics_);
  if (history_ != nullptr) callbacks.push_back(history_.get());
  DTNN_RETURN_IF_ERROR(Agree(run_.communicator, MakeWriters()));
  for (Callback* writer : writers_.callbacks()) callbacks.push_back(writer);
  if (schedule_) callbacks.push_back(&*schedule_);
  Checkpointer* const checkpointer = checkpointer_ ? &*checkpointer_ : nullptr;
  if (checkpointer != nullptr) callbacks.push_back(checkpointer);
  std::optional<Interrupt> own;
  std::optional<Interrupt>& held = lasting_ == nullptr ? own : lasting_->interrupt;
  if (!held && (stop_on_signal_ || lasting_ != nullptr)) {
    held.emplace(/*relayed=*/run_.communicator != nullptr);
  }
  std::optional<StopOnSignal> stop;
  if (held) {
    std::function<bool()> pause;
    if (generation_) pause = [this] { return generation_->MayPause(); };
    callbacks.push_back(&stop.emplace(*held, *trainer_, checkpointer, run_.communicator,
                                      StepsBetweenMeetings(run_.options), std::move(pause)));
  }
  std::optional<EndOfRun> end;  // after what saves and what stops
  if (schedule_) callbacks.push_back(&end.emplace(*trainer_, *schedule_));
  DTNN_RETURN_IF_ERROR(LogPlan());
  if (ResumesRun() && !run_.goes_on && !std::exchange(set_aside_, true)) {
    DTNN_RETURN_IF_ERROR(checkpointer->SetAsideNewer());
  }
  if (!run_.goes_on && !run_.options.output.report.empty()) {
    log_.Log(StrCat("**** ", run_.options.output.report, " is updated after every epoch\n"));
  }
  const PrivateTraining& privacy = trainer_->engine().options().privacy;
  if (const int64_t samples = run_.loaders.training->samples();
      privacy.enabled() && privacy.delta * double(samples) >= 1) {
    log_.Warn(StrCat("RunOptions::training.dp_sgd_delta=", privacy.delta,
                     ": is as much as publishing one of the ", samples,
                     " samples; give less than 1 / ", samples));
  }
  if (!run_.goes_on) log_.Log("**** Training...\n");
  const Stopwatch watch;
  const int64_t before = trainer_->epochs_done();
  const bool over = trainer_->ended();
  LogGraphs();
  DTNN_RETURN_IF_ERROR(TrainThrough(callbacks, held ? &*held : nullptr));
  // A run that a checkpoint had brought to its end ends as it did.
  const bool nothing_left = trainer_->epochs_done() == before && before > 0;
  if (schedule_ && nothing_left && !trainer_->stopped()) {
    DTNN_RETURN_IF_ERROR(schedule_->EndRun(before));
  }
  LogGraphs();
  if (epoch_ends_) epoch_ends_->Finish();
  if (stop && stop->paused()) return generation_->JoinNextAfterPause();
  if (stop) DTNN_RETURN_IF_ERROR(stop->Finish());
  if (const int signal = stop ? stop->signal() : 0) {
    return WithExitCode(
        absl::CancelledError(StrCat(
            "stopped by ", SignalName(signal), " after ", Counted(trainer_->steps_done(), "step"),
            DescribeEpsilon(trainer_->engine().epsilon()),
            checkpointer == nullptr ? "; RunOptions::checkpoint.folder would have saved the run"
                                    : "; RunOptions::checkpoint.resume continues from here")),
        ExitCodeOfSignal(signal));
  }
  interrupted_ = schedule_ && !over && trainer_->stopped() && !schedule_->ended();
  if (over) {
    log_.Log(
        "**** A scheduler ended this run: there is nothing left to train. A new run can begin with "
        "its parameters: RunOptions::network.weights=FILE, a checkpoint or a saved model\n");
  }
  seconds_ += watch.seconds();
  return ReportSpeed();
}

absl::Status RunWork::TrainThrough(std::span<Callback* const> callbacks,
                                   const Interrupt* interrupt) {
  if (run_.proximal != nullptr) return TrainAsClient(callbacks, interrupt);
  return trainer_->Train(
      *run_.loaders.training, run_.loaders.validation.get(),
      std::max<int64_t>(0, run_.options.training.epochs - trainer_->epochs_done()), callbacks);
}

absl::Status RunWork::TrainAsClient(std::span<Callback* const> callbacks,
                                    const Interrupt* interrupt) {
  const absl::Status status =
      TrainFederated({.options = run_.options,
                      .place = *run_.client,
                      .graph = run_.graph,
                      .store = *store_,
                      .trainer = *trainer_,
                      .optimizer = *run_.proximal,
                      .loaders = run_.loaders,
                      .metrics = last_metrics_,
                      .callbacks = callbacks,
                      .class_names = *run_.metric_set.class_names,
                      .tell = [this](std::string_view text) { log_.Log(text); },
                      .warn = [this](std::string_view line) { log_.Warn(line); }});
  const int signal = interrupt == nullptr ? 0 : interrupt->signal();
  if (signal == 0) return status;
  return WithExitCode(
      absl::CancelledError(StrCat(
          "stopped by ", SignalName(signal),
          "; the federation continues, and takes this client in again when it is "
          "started again",
          run_.options.checkpoint.folder.empty() ? "" : " with RunOptions::checkpoint.resume")),
      ExitCodeOfSignal(signal));
}

absl::Status RunWork::ReportSpeed() {
  log_.Print(StrCat(FormatRunSpeed(seconds_, trainer_->totals()), writers_.EnergyReport()));
  if (run_.communicator != nullptr) {
    DTNN_ASSIGN_OR_RETURN(const std::string exposure,
                          DescribeExposure(*run_.communicator, trainer_->totals().waited_seconds,
                                           trainer_->totals().training_seconds));
    log_.Print(exposure);
  }
  log_.LogVerbose(DescribeWaiting(run_.loaders, seconds_));
  return absl::OkStatus();
}

absl::Status RunWork::MakeWriters() {
  if (std::exchange(made_writers_, true)) return absl::OkStatus();
  return writers_.Make({.listing = run_.objects.listing,
                        .options = run_.options,
                        .ranks = run_.ranks,
                        .graph = run_.graph,
                        .dataset = *run_.dataset,
                        .loaders = run_.loaders,
                        .optimizer = *run_.optimizer,
                        .device = run_.context->device(),
                        .rates = rates_},
                       run_.communicator, run_.Writes(), trace_.profile(), *trainer_, *store_,
                       *run_.context, [this](std::string_view line) { log_.Warn(line); });
}

// Once, why steps on a GPU are not captured.
void RunWork::LogGraphs() {
  const std::string reason(trainer_->engine().graphs().reason());
  if (!run_.options.device.gpu || !run_.options.device.cuda_graphs || reason.empty()) return;
  if (std::exchange(logged_graphs_, true)) return;
  log_.Log(StrCat("**** Steps run call by call, not as CUDA graphs: ", reason, "\n"));
}

// How training will run, with output.verbose.
absl::Status RunWork::LogPlan() {
  if (!log_.verbose()) return absl::OkStatus();
  DTNN_RETURN_IF_ERROR(trainer_->PrepareForTraining(run_.loaders.training->max_batch()));
  log_.LogVerbose("**** Memory of training:\n" + FormatMemory(run_.graph, store_->dtype(),
                                                              *trainer_->engine().training_memory(),
                                                              run_.optimizer.get()));
  log_.LogVerbose("**** Algorithms of training:\n");
  for (const std::string& line :
       trainer_->engine().TrainingAlgorithms(run_.options.output.verbose == Verbosity::kDispatch)) {
    log_.LogVerbose(StrCat("  ", line, "\n"));
  }
  return absl::OkStatus();
}

}  // namespace dtnn
