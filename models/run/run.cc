#include "models/run/run.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "comm/ranks/job/exit_code.h"
#include "models/graph/table.h"
#include "tensor/errors.h"
#include "tensor/status_macros.h"
#include "tensor/stopwatch.h"
#include "tensor/text/str_cat.h"

namespace dtnn {

Run::Run(const RunOptions& options, RunObjects objects)
    : given_(options),
      lasting_(objects.lasting),
      stop_on_signal_(objects.stop_on_signal),
      trace_(given_, objects.communicator),
      run_(given_, std::move(objects),
           lasting_ != nullptr && (lasting_->rank->goes_on() || lasting_->kept)),
      log_(run_.options, run_.rank, run_.ranks, run_.objects.sinks) {
  if (lasting_ == nullptr) return;
  generation_.emplace(Generation::Options{
      .lasting = *lasting_,
      .run = run_,
      .log = log_,
      .last_metrics = last_metrics_,
      .parts = [this] { return Parts(); },
      .history = [this] { return history_ ? history_->text() : ""; },
      .save = [this](std::string& text) { return checkpointer_ && SaveAlone(text); }});
}

Run::~Run() {
  // Other ranks may be elsewhere by now.
  if (begun_ && !finished_) Finish(absl::OkStatus(), /*together=*/run_.ranks == 1).IgnoreError();
}

absl::StatusOr<std::unique_ptr<Run>> Run::Create(const RunOptions& options, RunObjects objects) {
  std::unique_ptr<Run> run(new Run(options, std::move(objects)));
  absl::Status status = run->GetReady();
  if (!status.ok()) {
    if (run->generation_ && run->generation_->JoinNextAfter(status)) return nullptr;
    return status;
  }
  run->begun_ = true;
  if (run->lasting_ != nullptr) run->lasting_->kept.reset();  // what the store holds from now on
  return run;
}

absl::Status Run::Execute() {
  DTNN_RETURN_IF_ERROR(CheckOpen());
  return Finish(Work());
}

void Run::End() {
  if (!finished_) Finish(absl::OkStatus()).IgnoreError();
}

absl::Status Run::CheckOpen() const {
  if (!finished_) return absl::OkStatus();
  return FailedPrecondition("this run has ended; Run::Create begins another, which can resume");
}

absl::Status Run::Fit() {
  DTNN_RETURN_IF_ERROR(CheckOpen());
  if (fitted_) return FailedPrecondition("this run has trained all its epochs");
  if (run_.options.training.evaluate_only) {
    return FailedPrecondition("RunOptions::training.evaluate_only: this run does not train");
  }
  absl::Status status = Train();
  if (status.ok()) status = SaveTrained();
  fitted_ = status.ok();
  return status.ok() ? status : Finish(std::move(status));
}

absl::StatusOr<MetricAverages> Run::Evaluate() {
  DTNN_RETURN_IF_ERROR(CheckOpen());
  if (run_.loaders.test == nullptr) {
    return FailedPrecondition(
        "RunOptions::training.evaluate: is false, so that the run has no test data");
  }
  absl::StatusOr<MetricAverages> averages = Test();
  absl::Status status = averages.status();
  if (status.ok() && fitted_) status = KeepTest(*averages);
  if (!status.ok()) return Finish(std::move(status));
  return averages;
}

absl::Status Run::Finish(absl::Status status, bool together) {
  if (std::exchange(finished_, true)) return status;
  // A signal ends all ranks in good order.
  if (status.ok() || absl::IsCancelled(status)) {
    writers_.Finish(status);
    FinishTrace(together && (lasting_ == nullptr || !lasting_->rank->has_next()));
    return status;
  }
  // What has started the ranks sends those that are left a signal.
  std::optional<Interrupt> held_back;
  if (stop_on_signal_ && (lasting_ == nullptr || !lasting_->interrupt)) {
    held_back.emplace(/*relayed=*/run_.communicator != nullptr);
  }
  status = SaveAfter(std::move(status));
  writers_.Finish(status);
  FinishTrace(/*together=*/false);
  return status;
}

absl::Status Run::Work() {
  // What a client of a federation begins with, others say.
  const bool first = run_.options.training.evaluate && run_.proximal == nullptr && !run_.goes_on;
  if (first || run_.options.training.evaluate_only) DTNN_RETURN_IF_ERROR(Test().status());
  if (!run_.options.training.evaluate_only) DTNN_RETURN_IF_ERROR(Train());
  if (lasting_ != nullptr && lasting_->rank->has_next()) return absl::OkStatus();
  DTNN_RETURN_IF_ERROR(SaveTrained());
  if (run_.options.training.evaluate && !run_.options.training.evaluate_only) {
    DTNN_ASSIGN_OR_RETURN(const MetricAverages results, Test());
    DTNN_RETURN_IF_ERROR(KeepTest(results));
  }
  // No rank leaves before all have done this much: a rank that is lost now may be the one that
  // writes.
  if (lasting_ != nullptr) DTNN_RETURN_IF_ERROR(run_.communicator->Barrier());
  log_.Log(performance_.Report());
  if (const WorkspaceUse& use = trainer_->engine().workspace_use(); use.allocations > 0) {
    log_.Log(StrCat("Workspaces: allocated ", use.allocations, " times, ",
                    FormatBytes(double(use.bytes)), " in all\n"));
  }
  log_.Log(run_.best_of_table);
  return absl::OkStatus();
}

absl::StatusOr<MetricAverages> Run::Test() {
  log_.Log("**** Evaluating on test dataset...\n");
  const Stopwatch watch;
  std::vector<Callback*> callbacks = {&performance_};
  callbacks.insert(callbacks.end(), run_.objects.callbacks.begin(), run_.objects.callbacks.end());
  DTNN_ASSIGN_OR_RETURN(MetricAverages averages, trainer_->Evaluate(*run_.loaders.test, callbacks));
  const double seconds = watch.seconds();
  if (run_.options.training.evaluate_only) {
    log_.Print(
        StrCat(absl::StrFormat("Testing time: %5.4f s\nTesting throughput: %5.4f samples/s\n",
                               seconds, double(averages.samples()) / seconds)));
  }
  return averages;
}

void Run::FinishTrace(bool together) {
  trace_.Finish(run_.graph, *store_, trainer_->engine(),
                {.together = together, .watts = writers_.watts(), .power = &writers_.power()},
                {.print = [this](std::string_view text) { log_.Print(text); },
                 .tell = [this](std::string_view text) { log_.Log(text); },
                 .warn = [this](std::string_view line) { log_.Warn(line); },
                 .warn_of_rank = [this](std::string_view line) { log_.WarnOfRank(line); }});
}

}  // namespace dtnn
