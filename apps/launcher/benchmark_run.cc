#include "apps/launcher/benchmark_run.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "apps/federation/train_federated.h"
#include "apps/launcher/generation.h"
#include "apps/launcher/initial_weights.h"
#include "apps/launcher/kept_models.h"
#include "apps/launcher/prepared_run.h"
#include "apps/launcher/run_voice.h"
#include "apps/launcher/verbose.h"
#include "apps/make/make_schedulers.h"
#include "apps/make/make_trainer_options.h"
#include "apps/make/rank_options.h"
#include "apps/make/run_choices.h"
#include "apps/model_file/model_file.h"
#include "apps/printing/memory_table.h"
#include "apps/printing/performance_counter.h"
#include "apps/printing/progress.h"
#include "apps/printing/progress_callback.h"
#include "apps/printing/run_speed.h"
#include "apps/tracing/run_subject.h"
#include "apps/tracing/run_trace.h"
#include "apps/tracing/run_writers.h"
#include "comm/launch_place.h"
#include "comm/local.h"
#include "comm/ranks/job/exit_code.h"
#include "comm/ranks/job/interrupt.h"
#include "comm/ranks/job/rank_report.h"
#include "comm/ranks/job/ranks.h"
#include "comm/ranks/job/save_after_loss.h"
#include "models/callbacks/checkpointer.h"
#include "models/callbacks/hand_over.h"
#include "models/callbacks/history.h"
#include "models/callbacks/last_metrics.h"
#include "models/callbacks/schedule.h"
#include "models/callbacks/stop_on_signal.h"
#include "models/checkpoint/run_settings.h"
#include "models/graph/table.h"
#include "models/parameters/parameter_store.h"
#include "models/plan/plan.h"
#include "models/serving/saved_model.h"
#include "models/training/metric_averages.h"
#include "models/training/trainer.h"
#include "models/training/trainer_options.h"
#include "tensor/files/array_file.h"
#include "tensor/status_macros.h"
#include "tensor/stopwatch.h"
#include "tensor/text/counted.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

class BenchmarkRun {
 public:
  BenchmarkRun(const Options& options, Communicator* communicator, std::ostream& out,
               std::ostream& err, LastingRun* lasting)
      : given_(options),
        lasting_(lasting),
        trace_(options, communicator),
        run_(options, communicator,
             lasting != nullptr && (lasting->rank->goes_on() || lasting->kept)),
        voice_(run_.options, run_.rank, run_.ranks, out, err),
        progress_({.display = run_.rank == 0 ? DisplayOf(options) : Display{},
                   .epochs = options.progress != "none"},
                  voice_.out()) {
    if (lasting == nullptr) return;
    generation_.emplace(Generation::Options{
        .lasting = *lasting,
        .run = run_,
        .voice = voice_,
        .last_metrics = last_metrics_,
        .parts = [this] { return Parts(); },
        .history = [this] { return history_ ? history_->text() : ""; },
        .save = [this](std::string& text) { return checkpointer_ && SaveAlone(text); }});
  }

  absl::Status Run() {
    absl::Status status = GetReady();
    if (!status.ok()) {
      return generation_ && generation_->JoinNextAfter(status) ? absl::OkStatus() : status;
    }
    if (lasting_ != nullptr) lasting_->kept.reset();  // what the store holds from now on
    status = Work();
    // A signal ends all ranks in good order.
    if (status.ok() || absl::IsCancelled(status)) {
      writers_.Finish(status);
      FinishTrace(/*together=*/lasting_ == nullptr || !lasting_->rank->has_next());
      return status;
    }
    // What has started the ranks sends those that are left a signal.
    std::optional<Interrupt> held_back;
    if (lasting_ == nullptr || !lasting_->interrupt) {
      held_back.emplace(/*relayed=*/run_.communicator != nullptr);
    }
    status = SaveAfter(std::move(status));
    writers_.Finish(status);
    FinishTrace(/*together=*/false);
    return status;
  }

  // Does nothing but this: what the ranks have kept.
  absl::Status SaveKept(const absl::Status& why) {
    voice_.SpeakForItself();
    std::string text(why.message());
    absl::Status status = GetReady();
    if (!status.ok()) StrAppend(&text, "; the last step cannot be saved: ", status.message());
    const bool saved = status.ok() && checkpointer_ && SaveAlone(text);
    return WithExitCode(absl::Status(why.code(), text), saved ? kExitPeerLost : kExitFailed);
  }

 private:
  absl::Status GetReady() {
    voice_.set_hushed(run_.goes_on && lasting_->dataset != nullptr);
    if (lasting_ != nullptr) run_.dataset = lasting_->dataset;
    DTNN_RETURN_IF_ERROR(run_.Prepare(voice_));
    if (lasting_ != nullptr) lasting_->dataset = run_.dataset;
    DTNN_RETURN_IF_ERROR(Agree(run_.communicator, Allocate()));
    DTNN_RETURN_IF_ERROR(Agree(run_.communicator, Begin()));
    DTNN_RETURN_IF_ERROR(Agree(run_.communicator, CheckPlace()));
    DTNN_RETURN_IF_ERROR(trace_.Begin(run_.graph, *store_));
    voice_.set_hushed(false);
    return absl::OkStatus();
  }

  void FinishTrace(bool together) {
    trace_.Finish(run_.graph, *store_, trainer_->engine(),
                  {.together = together, .watts = writers_.watts(), .power = &writers_.power()},
                  {.print = [this](std::string_view text) { voice_.out() << text << std::flush; },
                   .tell = [this](std::string_view text) { voice_.Tell(text); },
                   .warn = [this](std::string_view line) { voice_.Warn(line); },
                   .warn_of_own = [this](std::string_view line) { voice_.WarnOfOwn(line); }});
  }

  // What a run that failed has done so far.
  absl::Status SaveAfter(absl::Status status) {
    // Files of data that are gone may be gone for all ranks, so that none is left to save.
    if (absl::IsDataLoss(status) && run_.WritesCheckpoints()) status = SaveThen(status);
    if (run_.communicator == nullptr) return status;
    if (generation_ && generation_->JoinNextAfterLoss(status)) return absl::OkStatus();
    run_.communicator->Abort(status);  // where it was not the communicator that failed
    return SaveWhatIsLeft(std::move(status));
  }

  absl::Status Work() {
    // What a client of a federation begins with, others say.
    const bool first = run_.options.training.evaluate && run_.proximal == nullptr && !run_.goes_on;
    if (first || run_.options.training.evaluate_only) DTNN_RETURN_IF_ERROR(Evaluate().status());
    if (!run_.options.training.evaluate_only) DTNN_RETURN_IF_ERROR(Train());
    if (lasting_ != nullptr && lasting_->rank->has_next()) return absl::OkStatus();
    DTNN_RETURN_IF_ERROR(SaveTrained());
    if (run_.options.training.evaluate && !run_.options.training.evaluate_only) {
      DTNN_ASSIGN_OR_RETURN(const MetricAverages results, Evaluate());
      DTNN_RETURN_IF_ERROR(KeepTest(results));
    }
    // Nobody leaves before all have done this much: who is lost now may have been the one that
    // writes.
    if (lasting_ != nullptr) DTNN_RETURN_IF_ERROR(run_.communicator->Barrier());
    voice_.Tell(performance_.Report());
    if (const WorkspaceUse& use = trainer_->engine().workspace_use(); use.allocations > 0) {
      voice_.Tell(StrCat("Workspaces: allocated ", use.allocations, " times, ",
                         FormatBytes(double(use.bytes)), " in all\n"));
    }
    voice_.Tell(run_.best_of_table);
    return absl::OkStatus();
  }

  // What is left to go wrong now is memory.
  absl::Status Allocate() {
    DTNN_ASSIGN_OR_RETURN(
        store_, ParameterStore::Create(run_.graph, *run_.context, ElementTypeOf(run_.options),
                                       uint64_t(run_.options.training.seed)));
    TrainerOptions trainer =
        MakeTrainerOptions(run_.options, run_.metric_set, run_.optimizer, run_.communicator);
    trainer.training_loss = run_.training_loss;
    if (run_.best_of) trainer.best_of = &*run_.best_of;
    trainer.reducer.collectives = run_.collectives.get();
    trainer.reducer.sum = run_.encrypted_sum;
    DTNN_ASSIGN_OR_RETURN(trainer_, Trainer::Create(run_.graph, *store_, *run_.context, trainer));
    const bool schedules = !run_.options.training.evaluate_only && run_.proximal == nullptr;
    if (schedules) DTNN_RETURN_IF_ERROR(MakeSchedule());
    if (!run_.options.checkpoint.folder.empty()) MakeCheckpointer();
    if (generation_ && schedules) generation_->Watch(*trainer_);
    return absl::OkStatus();
  }

  // What files of the model say besides its parameters, which are those after that epoch.
  SavedModel Saved(const EpochRecord& epoch) const {
    ModelDescription description = DescribeModel(run_.options, *run_.dataset);
    if (description.class_names.empty() && run_.initial_model) {  // which data without names keep
      description.class_names = run_.initial_model->description.class_names;
    }
    description.training.learning_rate = InitialLearningRate(run_.options, run_.ranks);
    description.training.constants = run_.optimizer->constants();
    description.training.epochs = epoch.epoch;
    description.training.metrics = epoch.metrics;
    const int64_t done = trainer_->epochs_done();
    if (epoch.epoch < done) description.training.run_epochs = done;
    if (run_.options.training.evaluate_only) {  // what others trained
      description.training =
          run_.initial_model ? run_.initial_model->description.training : TrainingRecord();
    }
    return {.graph = run_.graph,
            .dtype = ElementTypeOf(run_.options),
            .preprocessing = run_.loaders.preprocessing,
            .description = std::move(description)};
  }

  // The epoch whose parameters the run has.
  EpochRecord Now() const {
    if (schedule_ && schedule_->restored()) return *schedule_->restored();
    return {.epoch = trainer_->epochs_done(), .metrics = last_metrics_.values()};
  }

  // From a checkpoint, which all ranks choose together, from a file, or from nothing.
  absl::Status Begin() {
    if (run_.goes_on) return GoOn();
    DTNN_RETURN_IF_ERROR(Resumes(run_.options) ? Resume()
                                               : LoadInitialWeights(run_, *store_, voice_));
    const bool keeps = run_.Writes() || lasting_ != nullptr;  // any rank may have to write one day
    if (run_.options.output.history.empty() || run_.options.training.evaluate_only || !keeps) {
      return absl::OkStatus();
    }
    DTNN_ASSIGN_OR_RETURN(
        history_, History::Create(run_.options.output.history, *trainer_, run_.metric_set,
                                  run_.loaders.validation != nullptr, trainer_->epochs_done(),
                                  [this](std::string_view line) { voice_.Warn(line); }));
    history_->set_writes(run_.Writes());
    return absl::OkStatus();
  }

  // With what ranks have kept.
  absl::Status GoOn() {
    DTNN_ASSIGN_OR_RETURN(const std::string history, generation_->TakeOver());
    if (lasting_->over || run_.options.output.history.empty()) return absl::OkStatus();
    DTNN_ASSIGN_OR_RETURN(
        history_,
        History::Continue(run_.options.output.history, *trainer_, history, trainer_->epochs_done(),
                          run_.Writes(), [this](std::string_view line) { voice_.Warn(line); }));
    return absl::OkStatus();
  }

  // Whether the epoch that a checkpoint left can be gone on with.
  absl::Status CheckPlace() {
    if (!Resumes(run_.options) && !run_.goes_on) return absl::OkStatus();
    if (!run_.goes_on && trainer_->epochs_done() >= run_.options.training.epochs) {
      voice_.Warn(StrCat("--resume: all epochs of --num-epochs=", run_.options.training.epochs,
                         " are already done; to continue, give a larger number"));
    }
    return trainer_->BeginEpochs(*run_.loaders.training);
  }

  absl::Status MakeSchedule() {
    DTNN_ASSIGN_OR_RETURN(std::vector<std::shared_ptr<Scheduler>> schedulers,
                          MakeSchedulers(run_.options, run_.metric_set,
                                         run_.loaders.validation != nullptr, run_.ranks));
    for (const std::string& line : DescribeMinimums(run_.options, run_.ranks)) voice_.Warn(line);
    schedule_.emplace(
        *trainer_, *store_, *run_.context,
        ScheduleOptions{.schedulers = std::move(schedulers),
                        .say = [this](std::string_view line) { voice_.out() << line << "\n"; },
                        .save =
                            [this](std::string_view, const EpochRecord& epoch, const Tensor& values,
                                   const std::string& previous) {
                              const KeptModels kept = {.folder = run_.options.schedule.model_folder,
                                                       .date = run_.date,
                                                       .writes = run_.Writes(),
                                                       .tags = ModelTags(Saved(epoch))};
                              return KeepModel(kept, epoch.epoch, run_.graph, *store_,
                                               *run_.context, values, previous);
                            }});
    return absl::OkStatus();
  }

  RunParts Parts() {
    return {
        .graph = &run_.graph,
        .store = store_.get(),
        .context = run_.context.get(),
        .trainer = trainer_.get(),
        .schedule = schedule_ ? &*schedule_ : nullptr,
        .optimizer = run_.options.optimizer.name,
        .settings =
            RunSettings{.data = run_.train_data,
                        .optimizer = run_.optimizer->constants(),
                        .clip_norm = run_.options.training.clip_norm,
                        .label_smoothing = run_.options.training.label_smoothing,
                        .choices = MakeRunChoices(run_.options, *run_.dataset, run_.loaders),
                        .epochs = run_.options.training.epochs},
        .first_rate = [this](int64_t ranks) { return InitialLearningRate(run_.options, ranks); },
        .tags = [this] { return ModelTags(Saved(Now())); }};
  }

  void MakeCheckpointer() {
    checkpointer_.emplace(
        Parts(), CheckpointerOptions{
                     .folder = run_.checkpoint_folder,
                     .every_epochs = run_.options.checkpoint.every_epochs,
                     .every_steps = run_.options.checkpoint.every_steps,
                     .writes = run_.WritesCheckpoints(),
                     .say = [this](std::string_view line) { voice_.WarnOfCheckpoint(line); }});
  }

  absl::Status Resume() {
    DTNN_RETURN_IF_ERROR(trainer_->PrepareForTraining(run_.loaders.training->max_batch()));
    DTNN_ASSIGN_OR_RETURN(const std::string path, checkpointer_->Resume());
    if (path.empty() && run_.options.checkpoint.resume != "if-there") {
      return NotFound("--resume: ", run_.options.checkpoint.folder,
                      " contains no checkpoint; --resume=if-there starts a new run then");
    }
    if (path.empty()) {
      voice_.Tell(StrCat("**** ", run_.options.checkpoint.folder,
                         " contains no checkpoint; starting a new run\n"));
    } else {
      if (const absl::Status status = TakeLastMetrics(path); !status.ok()) {
        voice_.Warn(
            StrCat("--resume: the metrics of the last epoch are not known: ", status.message()));
      }
      voice_.Tell(StrCat("**** Resuming from ", path, ", ", Counted(trainer_->steps_done(), "step"),
                         " done, learning rate ", trainer_->learning_rate(), "\n"));
    }
    return absl::OkStatus();
  }

  // Of the epoch before the checkpoint, for a run that does not end another: its last, or the
  // earlier one whose parameters it ended with.
  absl::Status TakeLastMetrics(const std::string& checkpoint) {
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

  // What training has done before its data failed is kept.
  absl::Status SaveThen(const absl::Status& status) {
    if (!checkpointer_ || trainer_->steps_done() == 0) return status;
    std::string text(status.message());
    SaveAlone(text);
    return absl::Status(status.code(), text);
  }

  // A rank is gone and this one is not: what all have computed so far must not be lost. One saves
  // it, and the others stay until it has, since launchers end all processes soon after the first.
  // What every rank writes for itself it saves itself. Trying again makes sense where a peer was
  // lost, not where one gave up, nor where the disk takes nothing.
  absl::Status SaveWhatIsLeft(absl::Status status) {
    const std::vector<int> lost = run_.communicator->lost();
    if (trainer_->diverged()) return WithExitCode(std::move(status), kExitFailed);
    if (!checkpointer_ || std::ranges::count(lost, run_.rank) > 0) return status;
    std::string text(status.message());
    voice_.SpeakForItself();  // rank 0 may be the one that is gone
    const auto save = [&] { return SaveAlone(text); };
    const bool saved =
        OwnCheckpoints(run_.options) ? save() : SaveAfterLoss(*run_.communicator, save);
    return WithExitCode(absl::Status(status.code(), text),
                        saved && IsLossOfPeer(status) ? kExitPeerLost : ExitCodeOf(status));
  }

  // Whether there is something to go on from, and a disk that takes more; `text` says so.
  bool SaveAlone(std::string& text) {
    if (lasting_ != nullptr && history_ != nullptr) {  // who wrote it may be gone
      const absl::Status written = history_->WriteWhatIsMissing();
      if (!written.ok()) StrAppend(&text, "; the history is not written: ", written.message());
    }
    const absl::Status saved = checkpointer_->SaveAlone();
    if (!saved.ok()) StrAppend(&text, "; the last step cannot be saved: ", saved.message());
    const std::string& newest = checkpointer_->newest();
    std::error_code error;
    const bool there = !newest.empty() && std::filesystem::exists(newest, error);
    if (there) StrAppend(&text, "; --resume continues from ", newest);
    // A step that was not done as a whole is no fault of the disk.
    return there && (saved.ok() || absl::IsFailedPrecondition(saved));
  }

  absl::StatusOr<MetricAverages> Evaluate() {
    voice_.Tell("**** Evaluating on test dataset...\n");
    const Stopwatch watch;
    Callback* const callbacks[] = {&performance_, &progress_};
    DTNN_ASSIGN_OR_RETURN(MetricAverages averages,
                          trainer_->Evaluate(*run_.loaders.test, callbacks));
    const double seconds = watch.seconds();
    if (run_.options.training.evaluate_only) {
      voice_.out() << absl::StrFormat(
          "Testing time: %5.4f s\nTesting throughput: %5.4f samples/s\n", seconds,
          double(averages.samples()) / seconds);
    }
    return averages;
  }

  // The results after training, in all files that say how the run went.
  absl::Status KeepTest(const MetricAverages& results) {
    DTNN_RETURN_IF_ERROR(writers_.SetTest(results));
    if (history_ != nullptr) DTNN_RETURN_IF_ERROR(history_->AddTest(results.Values("test_")));
    return SavesTrained() ? SaveTrainedWith(results.Values("test_")) : absl::OkStatus();
  }

  bool SavesTrained() const { return !run_.options.output.model.empty() && run_.Writes(); }

  absl::Status SaveTrainedWith(const NamedMetrics& test) {
    SavedModel model = Saved(Now());
    std::ranges::copy(test, std::back_inserter(model.description.training.metrics));
    return SaveModel(run_.options.output.model, model, *store_, *run_.context);
  }

  // Before the test, so that nothing that happens during it takes the model away.
  absl::Status SaveTrained() {
    if (!SavesTrained()) return absl::OkStatus();
    DTNN_RETURN_IF_ERROR(SaveTrainedWith({}));
    voice_.Tell(StrCat("**** Saved the model as ", run_.options.output.model, "\n"));
    return absl::OkStatus();
  }

  static Display DisplayOf(const Options& options) {
    return ChooseDisplay(options.progress,
                         DetectDisplay(STDOUT_FILENO, FindLaunchPlace().launched));
  }

  RunSubject Subject() const {
    return {.given = given_,
            .options = run_.options,
            .ranks = run_.ranks,
            .graph = run_.graph,
            .dataset = *run_.dataset,
            .loaders = run_.loaders,
            .optimizer = *run_.optimizer,
            .device = run_.context->device()};
  }

  absl::Status MakeWriters() {
    return writers_.Make(Subject(), run_.communicator, run_.Writes(), trace_.profile(), *trainer_,
                         *store_, *run_.context,
                         [this](std::string_view line) { voice_.Warn(line); });
  }

  // Once, why steps on a GPU are not captured.
  void TellOfGraphs() {
    const std::string reason(trainer_->engine().graphs().reason());
    if (!run_.options.device.gpu || !run_.options.device.cuda_graphs || reason.empty()) return;
    if (std::exchange(told_of_graphs_, true)) return;
    voice_.Tell(StrCat("**** Steps run call by call, not as CUDA graphs: ", reason, "\n"));
  }

  // How training will run, with --verbose.
  absl::Status TellOfPlan() {
    if (!voice_.tells_more()) return absl::OkStatus();
    DTNN_RETURN_IF_ERROR(trainer_->PrepareForTraining(run_.loaders.training->max_batch()));
    voice_.TellMore("**** Memory of training:\n" +
                    FormatMemory(run_.graph, store_->dtype(), *trainer_->engine().training_memory(),
                                 run_.optimizer.get()));
    voice_.TellMore("**** Algorithms of training:\n");
    for (const std::string& line :
         trainer_->engine().TrainingAlgorithms(run_.options.output.verbose == "dispatch")) {
      voice_.TellMore(StrCat("  ", line, "\n"));
    }
    return absl::OkStatus();
  }

  absl::Status Train() {
    std::vector<Callback*> callbacks;
    EpochEnds* const epoch_ends = generation_ ? generation_->ends() : nullptr;
    if (epoch_ends != nullptr) callbacks.push_back(epoch_ends);
    callbacks.insert(callbacks.end(), {&performance_, &progress_, &last_metrics_});
    if (history_ != nullptr) callbacks.push_back(history_.get());
    DTNN_RETURN_IF_ERROR(Agree(run_.communicator, MakeWriters()));
    for (Callback* writer : writers_.callbacks()) callbacks.push_back(writer);
    if (schedule_) callbacks.push_back(&*schedule_);
    Checkpointer* const checkpointer = checkpointer_ ? &*checkpointer_ : nullptr;
    if (checkpointer != nullptr) callbacks.push_back(checkpointer);
    std::optional<Interrupt> own;
    std::optional<Interrupt>& held = lasting_ == nullptr ? own : lasting_->interrupt;
    if (!held) held.emplace(/*relayed=*/run_.communicator != nullptr);
    const Interrupt& interrupt = *held;
    StopOnSignal stop(
        interrupt, *trainer_, checkpointer, run_.communicator, StepsBetweenMeetings(run_.options),
        generation_ ? std::function<bool()>([this] { return generation_->MayPause(); }) : nullptr);
    callbacks.push_back(&stop);
    std::optional<EndOfRun> end;  // after what saves and what stops
    if (schedule_) callbacks.push_back(&end.emplace(*trainer_, *schedule_));
    DTNN_RETURN_IF_ERROR(TellOfPlan());
    if (Resumes(run_.options) && !run_.goes_on) DTNN_RETURN_IF_ERROR(checkpointer->SetAsideNewer());
    if (!run_.goes_on && !run_.options.output.report.empty()) {
      voice_.Tell(
          StrCat("**** Look at ", run_.options.output.report, ", which each epoch renews\n"));
    }
    if (!run_.goes_on) voice_.Tell("**** Training...\n");
    const Stopwatch watch;
    const int64_t before = trainer_->epochs_done();
    TellOfGraphs();
    if (run_.proximal != nullptr) {
      DTNN_RETURN_IF_ERROR(TrainAsClient(callbacks, interrupt));
    } else {
      DTNN_RETURN_IF_ERROR(
          trainer_->Train(*run_.loaders.training, run_.loaders.validation.get(),
                          std::max<int64_t>(0, run_.options.training.epochs - before), callbacks));
    }
    // A run that a checkpoint had brought to its end ends as it did.
    const bool nothing_left = trainer_->epochs_done() == before && before > 0;
    if (schedule_ && nothing_left && !trainer_->stopped()) {
      DTNN_RETURN_IF_ERROR(schedule_->EndRun(before));
    }
    TellOfGraphs();
    if (epoch_ends != nullptr) epoch_ends->Finish();
    if (stop.paused()) return generation_->JoinNextAfterPause();
    DTNN_RETURN_IF_ERROR(stop.Finish());
    if (const int signal = stop.signal()) {
      return WithExitCode(
          absl::CancelledError(StrCat(
              "stopped by ", SignalName(signal), " after ", Counted(trainer_->steps_done(), "step"),
              checkpointer == nullptr ? "; --checkpoint-dir would have saved the run"
                                      : "; --resume continues from here")),
          ExitCodeOfSignal(signal));
    }
    if (trainer_->stopped() && trainer_->epochs_done() == before) {
      voice_.Tell("**** A scheduler ended this run: there is nothing left to train\n");
    }
    const double seconds = watch.seconds();
    voice_.out() << FormatRunSpeed(seconds, trainer_->totals()) << writers_.EnergyReport();
    if (run_.communicator != nullptr) {
      DTNN_ASSIGN_OR_RETURN(const std::string exposure,
                            DescribeExposure(*run_.communicator, trainer_->totals().waited_seconds,
                                             trainer_->totals().training_seconds));
      voice_.out() << exposure;
    }
    voice_.TellMore(DescribeWaiting(run_.loaders, seconds));
    return absl::OkStatus();
  }

  absl::Status TrainAsClient(std::span<Callback* const> callbacks, const Interrupt& interrupt) {
    const absl::Status status = TrainFederated(
        {.options = run_.options,
         .place = *run_.client,
         .graph = run_.graph,
         .store = *store_,
         .trainer = *trainer_,
         .optimizer = *run_.proximal,
         .loaders = run_.loaders,
         .metrics = last_metrics_,
         .callbacks = callbacks,
         .class_names = *run_.metric_set.class_names,
         .tell = [this](std::string_view text) { voice_.Tell(text); },
         .warn = [this](std::string_view line) { voice_.Warn(line); },
         .begin_round = [this](int64_t round, int64_t rounds,
                               int64_t epochs) { progress_.BeginRound(round, rounds, epochs); }});
    const int signal = interrupt.signal();
    if (signal == 0) return status;
    return WithExitCode(absl::CancelledError(StrCat(
                            "stopped by ", SignalName(signal),
                            "; the federation continues, and takes this client in again when it is "
                            "started again")),
                        ExitCodeOfSignal(signal));
  }

  const Options& given_;
  LastingRun* const lasting_;
  RunTrace trace_;  // which loaders tell, until they end
  PreparedRun run_;
  RunVoice voice_;
  ProgressCallback progress_;
  PerformanceCounter performance_;
  LastMetrics last_metrics_;
  std::unique_ptr<ParameterStore> store_;
  std::unique_ptr<Trainer> trainer_;
  bool told_of_graphs_ = false;
  std::optional<Schedule> schedule_;
  std::optional<Checkpointer> checkpointer_;
  std::optional<Generation> generation_;  // where ranks come and go
  std::unique_ptr<History> history_;
  RunWriters writers_;
};

}  // namespace

absl::Status RunBenchmark(const Options& options, Communicator* communicator, std::ostream& out,
                          std::ostream& err, LastingRun* lasting) {
  return BenchmarkRun(options, communicator, out, err, lasting).Run();
}

absl::Status SaveKept(const Options& options, LastingRun& lasting, const absl::Status& why,
                      std::ostream& out, std::ostream& err) {
  // One rank is enough to hold it.
  DTNN_ASSIGN_OR_RETURN(const auto alone, LocalGroup::Create(1));
  return BenchmarkRun(options, alone[0].get(), out, err, &lasting).SaveKept(why);
}

}  // namespace dtnn
