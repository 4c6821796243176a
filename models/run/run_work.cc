#include "models/run/run_work.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "comm/ranks/job/ranks.h"
#include "models/graph/table.h"
#include "tensor/errors.h"
#include "tensor/status_macros.h"
#include "tensor/stopwatch.h"
#include "tensor/text/str_cat.h"
#include "tensor/trace/observer.h"

namespace dtnn {
namespace {

// Whether a pass came to its end, for which the trainer does not call where it is stopped.
struct WholePass : Callback {
  absl::Status OnPassEnd(const Pass&) override {
    whole = true;
    return absl::OkStatus();
  }
  bool whole = false;
};

}  // namespace

RunWork::RunWork(const RunOptions& options, RunObjects objects, LastingRun* lasting)
    : given_(options),
      lasting_(lasting),
      stop_on_signal_(objects.stop_on_signal),
      trace_(given_, objects.communicator),
      run_(given_, std::move(objects),
           lasting_ != nullptr && (lasting_->rank->goes_on() || lasting_->kept)),
      log_(run_.options, run_.rank, run_.ranks, run_.objects.sinks) {
  if (lasting_ == nullptr) return;
  generation_.emplace(
      Generation::Options{.lasting = *lasting_,
                          .run = run_,
                          .log = log_,
                          .last_metrics = last_metrics_,
                          .ends = epoch_ends_,
                          .parts = [this] { return Parts(); },
                          .history = [this] { return history_ ? history_->text() : ""; },
                          .save = [this](std::string& text) { return SaveAlone(text); }});
}

absl::Status RunWork::Finish(absl::Status status, bool together) {
  if (std::exchange(finished_, true)) return status;
  // A signal ends all ranks in good order.
  if (status.ok() || absl::IsCancelled(status)) {
    writers_.Finish(status);
    FinishTrace(together && (lasting_ == nullptr || !lasting_->rank->has_next()));
    LeaveCheckpoints();
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

// Another run may continue there while this one is still tested and saved.
void RunWork::LeaveCheckpoints() {
  checkpointer_.reset();
  run_.checkpoint_folder = CheckpointFolder(run_.options.checkpoint.folder);
}

absl::Status RunWork::Work() {
  const ScopedObserver watching = trace_.Watch();
  // A client of a federation begins with what the aggregator sends.
  const bool first = run_.options.training.evaluate && run_.proximal == nullptr && !run_.goes_on;
  if (first || run_.options.training.evaluate_only) {
    DTNN_RETURN_IF_ERROR(Test(*run_.loaders.test).status());
  }
  if (!run_.options.training.evaluate_only) DTNN_RETURN_IF_ERROR(Train());
  if (lasting_ != nullptr && lasting_->rank->has_next()) return absl::OkStatus();
  DTNN_RETURN_IF_ERROR(SaveTrained());
  if (run_.options.training.evaluate && !run_.options.training.evaluate_only) {
    DTNN_ASSIGN_OR_RETURN(const MetricAverages results, Test(*run_.loaders.test));
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

absl::StatusOr<std::unique_ptr<Loader>> RunWork::LoaderOf(std::shared_ptr<const Dataset> data,
                                                          Split split, bool undivided) {
  auto loader = run_.MakeTestLoader(std::move(data), split, undivided);
  DTNN_RETURN_IF_ERROR(Agree(run_.communicator, loader.status()));
  return loader;
}

absl::StatusOr<MetricAverages> RunWork::Test(Loader& loader, std::string_view doing) {
  const ScopedObserver watching = trace_.Watch();
  log_.Log(StrCat("**** ", doing, "...\n"));
  const Stopwatch watch;
  std::vector<Callback*> callbacks = {&performance_};
  callbacks.insert(callbacks.end(), run_.objects.callbacks.begin(), run_.objects.callbacks.end());
  WholePass pass;
  callbacks.push_back(&pass);
  test_stopped_ = false;
  DTNN_ASSIGN_OR_RETURN(MetricAverages averages, trainer_->Evaluate(loader, callbacks));
  test_stopped_ = !pass.whole;
  if (test_stopped_) return absl::CancelledError("a callback stopped the test");
  const double seconds = watch.seconds();
  if (run_.options.training.evaluate_only) {
    log_.Print(
        StrCat(absl::StrFormat("Testing time: %5.4f s\nTesting throughput: %5.4f samples/s\n",
                               seconds, double(averages.samples()) / seconds)));
  }
  return averages;
}

void RunWork::FinishTrace(bool together) {
  trace_.Finish(run_.graph, *store_, trainer_->engine(),
                {.together = together, .watts = writers_.watts(), .power = &writers_.power()},
                {.print = [this](std::string_view text) { log_.Print(text); },
                 .tell = [this](std::string_view text) { log_.Log(text); },
                 .warn = [this](std::string_view line) { log_.Warn(line); },
                 .warn_of_rank = [this](std::string_view line) { log_.WarnOfRank(line); }});
}

}  // namespace dtnn
