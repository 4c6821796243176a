#include "apps/launcher/benchmark_run.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "apps/launcher/kept_models.h"
#include "apps/launcher/last_metrics.h"
#include "apps/launcher/model_file.h"
#include "apps/launcher/rank_options.h"
#include "apps/launcher/run_memory.h"
#include "apps/launcher/verbose.h"
#include "apps/make/make_dataset.h"
#include "apps/make/make_loaders.h"
#include "apps/make/make_model.h"
#include "apps/make/make_schedulers.h"
#include "apps/make/make_trainer_options.h"
#include "apps/make/make_training.h"
#include "apps/make/standardization.h"
#include "apps/printing/memory_table.h"
#include "apps/printing/parameter_list.h"
#include "apps/printing/performance_counter.h"
#include "apps/printing/progress_callback.h"
#include "comm/gather_values.h"
#include "comm/job/exit_code.h"
#include "comm/job/interrupt.h"
#include "comm/job/rank_report.h"
#include "comm/job/ranks.h"
#include "comm/job/save_after_loss.h"
#include "comm/launch_place.h"
#include "data/dataset.h"
#include "data/loading/fingerprint.h"
#include "data/preprocessing.h"
#include "kernels/context.h"
#include "kernels/simd_target.h"
#include "models/callbacks/checkpointer.h"
#include "models/callbacks/history.h"
#include "models/callbacks/schedule.h"
#include "models/callbacks/stop_on_signal.h"
#include "models/checkpoint/checkpoint_folder.h"
#include "models/checkpoint/run_settings.h"
#include "models/graph/table.h"
#include "models/parameters/parameter_store.h"
#include "models/parameters/weights.h"
#include "models/plan/fusion.h"
#include "models/serving/saved_model.h"
#include "models/training/metric_averages.h"
#include "models/training/same_data.h"
#include "models/training/trainer.h"
#include "tensor/available_memory.h"
#include "tensor/counted.h"
#include "tensor/files/array_file.h"
#include "tensor/status_macros.h"
#include "tensor/stopwatch.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

class BenchmarkRun {
 public:
  BenchmarkRun(const Options& options, Communicator* communicator, std::ostream& out,
               std::ostream& err)
      : communicator_(communicator),
        rank_(communicator == nullptr ? 0 : communicator->rank()),
        ranks_(communicator == nullptr ? 1 : communicator->size()),
        options_(OptionsOfRank(options, rank_, ranks_)),
        out_(rank_ == 0 ? out : silence_),
        err_(rank_ == 0 ? err : silence_),
        own_err_(err),
        tells_of_checkpoints_(ranks_ > 1 && OwnCheckpoints(options)),
        progress_(rank_ == 0 ? DetectDisplay(STDOUT_FILENO, FindLaunchPlace().launched) : Display{},
                  out_) {}

  absl::Status Run() {
    DTNN_RETURN_IF_ERROR(Agree(communicator_, LoadData()));
    DTNN_RETURN_IF_ERROR(Agree(communicator_, CompareWithRankZero()));
    DTNN_RETURN_IF_ERROR(Agree(communicator_, Prepare()));
    DTNN_RETURN_IF_ERROR(Agree(communicator_, PrepareLoaders()));
    DTNN_RETURN_IF_ERROR(Agree(communicator_, Allocate()));
    DTNN_RETURN_IF_ERROR(Agree(communicator_, Begin()));
    DTNN_RETURN_IF_ERROR(Agree(communicator_, CheckPlace()));
    absl::Status status = Work();
    // A signal ends all ranks in good order.
    if (status.ok() || absl::IsCancelled(status)) return status;
    // Files of data that are gone may be gone for all ranks, so that none is left to save.
    if (absl::IsDataLoss(status) && WritesCheckpoints()) status = SaveThen(status);
    if (communicator_ == nullptr) return status;
    communicator_->Abort(status);  // where it was not the communicator that failed
    return SaveWhatIsLeft(std::move(status));
  }

 private:
  absl::Status Work() {
    if (options_.evaluate || options_.evaluate_only) DTNN_RETURN_IF_ERROR(Evaluate());
    if (!options_.evaluate_only) DTNN_RETURN_IF_ERROR(Train());
    DTNN_RETURN_IF_ERROR(SaveTrained());
    if (options_.evaluate && !options_.evaluate_only) DTNN_RETURN_IF_ERROR(Evaluate());
    Tell(performance_.Report());
    return absl::OkStatus();
  }

  // What --quiet keeps back.
  void Tell(std::string_view text) {
    if (!options_.quiet) out_ << text << std::flush;
  }

  void TellMore(std::string_view text) {
    if (options_.verbose) out_ << text << std::flush;
  }

  void Warn(std::string_view line) {
    err_ << absl::StrCat("benchmark: warning: ", OneLine(line), "\n") << std::flush;
  }

  // Of common checkpoints rank 0 tells; of its own, no other rank knows.
  void WarnOfCheckpoint(std::string_view line) {
    if (!tells_of_checkpoints_) return Warn(line);
    own_err_ << absl::StrCat("benchmark: warning: rank ", rank_, ": ", OneLine(line), "\n")
             << std::flush;
  }

  // What can be wrong with the options, the files or the machine shows here, in Prepare and in
  // PrepareLoaders, each of which all ranks enter together.
  absl::Status LoadData() {
    if (options_.model_sync_min_avail > ranks_) {
      return UsageError(absl::StrCat("--model-sync-min-avail=", options_.model_sync_min_avail,
                                     ": is more than there are ranks, ", ranks_));
    }
    if (options_.enable_gpu && communicator_ != nullptr) {
      return UsageError(
          "--enable-gpu: several processes train on processors only in this version; leave out "
          "mpirun or --enable-gpu");
    }
    const Device device = options_.enable_gpu ? Device::Cuda(0) : Device::Cpu();
    absl::StatusOr<std::unique_ptr<DeviceContext>> context = DeviceContext::Create(device);
    if (!context.ok()) {
      return UsageError("--enable-gpu: " + std::string(context.status().message()));
    }
    context_ = *std::move(context);
    DTNN_ASSIGN_OR_RETURN(optimizer_, MakeOptimizer(options_));
    DTNN_RETURN_IF_ERROR(PrepareOutput());
    if (!options_.weights_and_bias_filename.empty()) {  // before the data are read
      DTNN_RETURN_IF_ERROR(ArrayFileReader::Open(options_.weights_and_bias_filename).status());
    }
    if (options_.model.empty()) {
      DTNN_ASSIGN_OR_RETURN(begun_with_, ReadModelToRun(options_.weights_and_bias_filename));
      FollowModel(*begun_with_, options_);
    }
    Tell(absl::StrCat("**** Loading ", options_.dataset, " dataset...\n"));
    DTNN_ASSIGN_OR_RETURN(dataset_, MakeDataset(options_));
    for (const std::string& warning : dataset_->warnings()) Warn(warning);
    const bool shared = communicator_ != nullptr && options_.shared_storage;
    if (!shared && options_.checkpoint_dir.empty()) return absl::OkStatus();
    DTNN_ASSIGN_OR_RETURN(train_data_, Fingerprint(*dataset_, Split::kTrain));
    DTNN_ASSIGN_OR_RETURN(test_data_, Fingerprint(*dataset_, Split::kTest));
    return absl::OkStatus();
  }

  absl::Status Prepare() {
    FollowTargets(*dataset_, options_);
    DTNN_ASSIGN_OR_RETURN(metric_set_, MakeMetricSet(options_));
    DTNN_RETURN_IF_ERROR(CheckFigures(metric_set_, *dataset_));
    if (dataset_->outputs() == 1 && dataset_->target_kind() == TargetKind::kClass) {
      return UsageError(absl::StrCat("--dataset: the samples of ", std::string(dataset_->name()),
                                     " are all of one class: there is nothing to learn"));
    }
    if (begun_with_) {
      DTNN_ASSIGN_OR_RETURN(graph_, NetworkFor(*begun_with_, options_.weights_and_bias_filename,
                                               options_, *dataset_));
      DTNN_ASSIGN_OR_RETURN(graph_, FreezeLayers(options_, std::move(graph_)));
      return Introduce(context_->device());
    }
    DTNN_ASSIGN_OR_RETURN(
        graph_, MakeModel(options_, {.format = FormatOf(options_),
                                     .sample = dataset_->sample(),
                                     .classes = dataset_->outputs(),
                                     .final_activation = metric_set_.loss->final_activation()}));
    return Introduce(context_->device());
  }

  absl::Status PrepareLoaders() {
    std::optional<Normalization> normalization;
    if (begun_with_) normalization = NormalizationFor(*begun_with_, options_, *dataset_);
    DTNN_ASSIGN_OR_RETURN(
        loaders_, MakeLoaders(options_, dataset_, rank_, ranks_, communicator_, normalization));
    if (loaders_.statistics) {
      Tell(absl::StrCat("**** Standardising: ", Describe(*loaders_.statistics), "\n"));
    }
    FollowSamples(loaders_);
    TellMore(DescribeLoaders(*dataset_, loaders_));
    const std::string odd = DescribeLargeBatch(options_, loaders_);
    if (!odd.empty()) Warn(odd);
    return CheckMemoryOfRun();
  }

  // Before any rank takes memory that another still counts as left.
  absl::Status CheckMemoryOfRun() {
    if (options_.force || !context_->device().is_cpu()) return absl::OkStatus();
    RunBatches batches;
    if (loaders_.training != nullptr) batches.training = loaders_.training->max_batch();
    for (const auto* loader : {&loaders_.validation, &loaders_.test}) {
      if (*loader == nullptr) continue;
      batches.testing = std::max(batches.testing, (*loader)->max_batch());
    }
    DTNN_ASSIGN_OR_RETURN(
        const RunMemory memory,
        MeasureMemory(options_, graph_, *metric_set_.loss,
                      options_.evaluate_only ? nullptr : optimizer_.get(), *context_, batches));
    const int ranks_here = communicator_ == nullptr ? 1 : communicator_->place().node_size;
    return CheckMemory(memory, FindAvailableMemory(), ranks_here);
  }

  // What is left to go wrong now is memory.
  absl::Status Allocate() {
    DTNN_ASSIGN_OR_RETURN(store_, ParameterStore::Create(graph_, *context_, ElementTypeOf(options_),
                                                         uint64_t(options_.random_seed)));
    DTNN_ASSIGN_OR_RETURN(trainer_, Trainer::Create(graph_, *store_, *context_,
                                                    MakeTrainerOptions(options_, metric_set_,
                                                                       optimizer_, communicator_)));
    if (!options_.evaluate_only) DTNN_RETURN_IF_ERROR(MakeSchedule());
    if (!options_.checkpoint_dir.empty()) MakeCheckpointer();
    return absl::OkStatus();
  }

  // What the run will write to must take it: a run of hours must not find out at its end.
  absl::Status PrepareOutput() {
    if (Writes()) DTNN_RETURN_IF_ERROR(CheckModelFile(options_.save_model));
    if (options_.evaluate_only) return absl::OkStatus();
    if (Writes()) DTNN_RETURN_IF_ERROR(MakeModelFolder(options_.model_dir));
    if (Writes() && !options_.history_file.empty()) {
      DTNN_RETURN_IF_ERROR(History::Check(options_.history_file));
    }
    if (options_.checkpoint_dir.empty() || !WritesCheckpoints()) return absl::OkStatus();
    DTNN_ASSIGN_OR_RETURN(const std::vector<std::string> warnings,
                          checkpoint_folder_.Prepare(options_.resume));
    for (const std::string& warning : warnings) WarnOfCheckpoint(warning);
    return absl::OkStatus();
  }

  // What files of the model say besides its parameters, after so many epochs.
  SavedModel Saved(int64_t epochs) const {
    ModelDescription description = DescribeModel(options_, *dataset_);
    description.training.epochs = epochs;
    description.training.metrics = last_metrics_.values();
    if (options_.evaluate_only) {  // what others trained
      description.training = begun_with_ ? begun_with_->description.training : TrainingRecord();
    }
    return {.graph = graph_,
            .dtype = ElementTypeOf(options_),
            .preprocessing = loaders_.preprocessing,
            .description = std::move(description)};
  }

  // Where there are too few samples for validation, schedulers watch what there is.
  void FollowSamples(const Loaders& loaders) {
    if (loaders.training == nullptr || loaders.validation != nullptr ||
        options_.validation_split == 0) {
      return;
    }
    if (WatchTraining(options_)) {
      Warn(absl::StrCat("--validation-split=", options_.validation_split, ": holds out none of ",
                        Counted(loaders.training->samples(), "sample"),
                        "; schedulers watch the training metrics instead"));
    }
  }

  // Ranks that share files must have found the same data, and name what they write alike; those
  // with data of their own must have found the same classes.
  absl::Status CompareWithRankZero() {
    if (communicator_ == nullptr) return absl::OkStatus();
    if (!options_.shared_storage) {
      DTNN_ASSIGN_OR_RETURN(dataset_, AgreeOnClasses(*communicator_, dataset_));
      return absl::OkStatus();
    }
    DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> dates,
                          GatherValues(*communicator_, kept_models_.date));
    kept_models_.date = dates[0];
    return CompareData(*communicator_, {train_data_, test_data_});
  }

  // From a checkpoint, which all ranks choose together, from a file, or from nothing.
  absl::Status Begin() {
    DTNN_RETURN_IF_ERROR(options_.resume ? Resume() : LoadStart());
    if (options_.history_file.empty() || options_.evaluate_only || !Writes()) {
      return absl::OkStatus();
    }
    DTNN_ASSIGN_OR_RETURN(history_,
                          History::Create(options_.history_file, *trainer_, metric_set_,
                                          loaders_.validation != nullptr, trainer_->epochs_done()));
    return absl::OkStatus();
  }

  // Whether the epoch that a checkpoint left can be gone on with.
  absl::Status CheckPlace() {
    if (!options_.resume) return absl::OkStatus();
    if (trainer_->epochs_done() >= options_.num_epochs) {
      Warn(absl::StrCat("--resume: --num-epochs=", options_.num_epochs, " are done already"));
    }
    return trainer_->BeginEpochs(*loaders_.training);
  }

  // The table of layers, the parameters of the run, and what it runs on.
  absl::Status Introduce(Device device) {
    DTNN_ASSIGN_OR_RETURN(
        const std::string parameters,
        FormatParameterList(options_, {.mpi_processes = ranks_,
                                       .threads_per_process = NumThreads(),
                                       .gpus_per_node = options_.enable_gpu ? 1 : 0}));
    Tell(absl::StrCat("**** ", graph_.name(), " model...\n",
                      FormatTable(graph_, ElementTypeOf(options_), device), parameters,
                      "**** Running on ", device.ToString()));
    if (device.is_cpu()) {
      Tell(absl::StrCat(" (", Counted(NumThreads(), "thread"), ", ", std::string(SimdTarget()),
                        ")"));
    }
    if (ranks_ > 1) Tell(absl::StrCat(" on each of ", ranks_, " ranks"));
    Tell("\n");
    if (ranks_ > 1 && options_.learning_rate_scaling != "False") {
      Tell(absl::StrCat("**** Learning rate of ", ranks_,
                        " ranks: ", InitialLearningRate(options_, ranks_), "\n"));
    }
    TellMore(DescribeKernels(graph_, options_, device));
    for (const std::string& line : DescribeFusions(graph_, MakeFusions(options_)))
      Tell("Fusing " + line + "...\n");
    return absl::OkStatus();
  }

  absl::Status MakeSchedule() {
    DTNN_ASSIGN_OR_RETURN(
        std::vector<std::shared_ptr<Scheduler>> schedulers,
        MakeSchedulers(options_, metric_set_, loaders_.validation != nullptr, ranks_));
    for (const std::string& line : DescribeMinimums(options_, ranks_)) Warn(line);
    schedule_.emplace(
        *trainer_, *store_, *context_,
        ScheduleOptions{.schedulers = std::move(schedulers),
                        .say = [this](std::string_view line) { out_ << line << "\n"; },
                        .save =
                            [this](std::string_view, int64_t epoch, const Tensor& values,
                                   const std::string& previous) {
                              KeptModels kept = kept_models_;
                              kept.tags = ModelTags(Saved(epoch));
                              return KeepModel(kept, epoch, graph_, *store_, *context_, values,
                                               previous);
                            }});
    return absl::OkStatus();
  }

  void MakeCheckpointer() {
    checkpointer_.emplace(
        RunParts{
            .graph = &graph_,
            .store = store_.get(),
            .context = context_.get(),
            .trainer = trainer_.get(),
            .schedule = &*schedule_,
            .optimizer = options_.optimizer,
            .settings = RunSettings{.data = train_data_,
                                    .optimizer = optimizer_->constants(),
                                    .clip_norm = options_.clip_norm,
                                    .label_smoothing = options_.label_smoothing},
            .first_rate = [this](int64_t ranks) { return InitialLearningRate(options_, ranks); },
            .tags = [this] { return ModelTags(Saved(trainer_->epochs_done())); }},
        CheckpointerOptions{.folder = checkpoint_folder_,
                            .every_epochs = options_.checkpoint_freq,
                            .every_steps = options_.checkpoint_steps,
                            .writes = WritesCheckpoints(),
                            .say = [this](std::string_view line) { WarnOfCheckpoint(line); }});
  }

  absl::Status Resume() {
    DTNN_RETURN_IF_ERROR(trainer_->PrepareForTraining(loaders_.training->max_batch()));
    DTNN_ASSIGN_OR_RETURN(const std::string path, checkpointer_->Resume());
    if (path.empty()) {
      Warn(absl::StrCat("--resume: ", options_.checkpoint_dir,
                        " has no checkpoint to go on from: beginning anew"));
    } else {
      Tell(absl::StrCat("**** Going on from ", path, ", ", Counted(trainer_->steps_done(), "step"),
                        " done, learning rate ", trainer_->learning_rate(), "\n"));
    }
    return absl::OkStatus();
  }

  // The parameters that the run begins with.
  absl::Status LoadStart() {
    const std::string& path = options_.weights_and_bias_filename;
    if (path.empty()) return absl::OkStatus();
    DTNN_ASSIGN_OR_RETURN(const LoadedWeights loaded,
                          LoadWeights(path, graph_, *store_, *context_,
                                      {.format = *ParseWeightsFormat(options_.weights_format),
                                       .partial = options_.weights_partial}));
    for (const std::string& warning : loaded.warnings) Warn(warning);
    WarnOfPreprocessing(loaded);
    Tell(absl::StrCat("**** Loaded ", loaded.parameters, " of ", Counted(loaded.wanted, "array"),
                      " of weights from ", path, "\n"));
    return absl::OkStatus();
  }

  // Parameters that were trained on images shown otherwise are far worse here.
  void WarnOfPreprocessing(const LoadedWeights& loaded) {
    const std::string& path = options_.weights_and_bias_filename;
    if (!loaded.preprocessing) return;
    const int64_t channels = dataset_->sample().channels;
    const absl::StatusOr<Preprocessing> trained =
        ParsePreprocessing(*loaded.preprocessing, channels);
    if (!trained.ok())
      return Warn(absl::StrCat(path, ": ", std::string(trained.status().message())));
    if (SamePreprocessing(*trained, loaders_.preprocessing, channels)) return;
    Warn(absl::StrCat(path, ": was trained on samples as ", Describe(*trained),
                      "; this run shows them as ", Describe(loaders_.preprocessing),
                      " (--normalize, --standardize, --transform-crop, --transform-resize)"));
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
    const std::vector<int> lost = communicator_->lost();
    if (trainer_->diverged()) return WithExitCode(std::move(status), kExitFailed);
    if (!checkpointer_ || std::ranges::count(lost, rank_) > 0) return status;
    std::string text(status.message());
    tells_of_checkpoints_ = true;  // rank 0 may be the one that is gone
    const auto save = [&] { return SaveAlone(text); };
    const bool saved = OwnCheckpoints(options_) ? save() : SaveAfterLoss(*communicator_, save);
    return WithExitCode(absl::Status(status.code(), text),
                        saved && IsLossOfPeer(status) ? kExitPeerLost : ExitCodeOf(status));
  }

  // Whether there is something to go on from, and a disk that takes more; `text` says so.
  bool SaveAlone(std::string& text) {
    const absl::Status saved = checkpointer_->SaveAlone();
    if (!saved.ok()) absl::StrAppend(&text, "; the last step cannot be saved: ", saved.message());
    const std::string& newest = checkpointer_->newest();
    std::error_code error;
    const bool there = !newest.empty() && std::filesystem::exists(newest, error);
    if (there) absl::StrAppend(&text, "; --resume goes on from ", newest);
    // A step that was not done as a whole is no fault of the disk.
    return there && (saved.ok() || absl::IsFailedPrecondition(saved));
  }

  absl::Status Evaluate() {
    Tell("**** Evaluating on test dataset...\n");
    const Stopwatch watch;
    Callback* const callbacks[] = {&performance_, &progress_};
    DTNN_ASSIGN_OR_RETURN(const MetricAverages averages,
                          trainer_->Evaluate(*loaders_.test, callbacks));
    const double seconds = watch.seconds();
    if (options_.evaluate_only) {
      out_ << absl::StrFormat("Testing time: %5.4f s\nTesting throughput: %5.4f samples/s\n",
                              seconds, double(averages.samples()) / seconds);
    }
    return absl::OkStatus();
  }

  absl::Status SaveTrained() {
    if (options_.save_model.empty() || !Writes()) return absl::OkStatus();
    const int64_t epochs = trainer_->epochs_done();
    DTNN_RETURN_IF_ERROR(SaveModel(options_.save_model, Saved(epochs), *store_, *context_));
    Tell(absl::StrCat("**** Saved the model as ", options_.save_model, "\n"));
    return absl::OkStatus();
  }

  absl::Status Train() {
    std::vector<Callback*> callbacks = {&performance_, &progress_, &last_metrics_};
    if (history_ != nullptr) callbacks.push_back(history_.get());
    callbacks.push_back(&*schedule_);
    Checkpointer* const checkpointer = checkpointer_ ? &*checkpointer_ : nullptr;
    if (checkpointer != nullptr) callbacks.push_back(checkpointer);
    const Interrupt interrupt(/*relayed=*/communicator_ != nullptr);
    StopOnSignal stop(interrupt, *trainer_, checkpointer, communicator_,
                      StepsBetweenMeetings(options_));
    callbacks.push_back(&stop);
    if (options_.verbose) {
      DTNN_RETURN_IF_ERROR(trainer_->PrepareForTraining(loaders_.training->max_batch()));
      TellMore("**** Memory of training:\n" + FormatMemory(graph_, store_->dtype(),
                                                           *trainer_->engine().training_memory(),
                                                           optimizer_.get()));
    }
    if (options_.resume) DTNN_RETURN_IF_ERROR(checkpointer->GiveUpNewer());
    Tell("**** Training...\n");
    const Stopwatch watch;
    const int64_t before = trainer_->epochs_done();
    DTNN_RETURN_IF_ERROR(trainer_->Train(*loaders_.training, loaders_.validation.get(),
                                         std::max<int64_t>(0, options_.num_epochs - before),
                                         callbacks));
    DTNN_RETURN_IF_ERROR(stop.Finish());
    if (const int signal = stop.signal()) {
      return WithExitCode(
          absl::CancelledError(absl::StrCat(
              "stopped by ", SignalName(signal), " after ", Counted(trainer_->steps_done(), "step"),
              checkpointer == nullptr ? "; --checkpoint-dir would have saved the run"
                                      : "; --resume goes on from here")),
          ExitCodeOfSignal(signal));
    }
    if (trainer_->stopped() && trainer_->epochs_done() == before) {
      Tell("**** A scheduler has ended this run: nothing is left to train\n");
    }
    const double seconds = watch.seconds();
    Report(seconds, trainer_->epochs_done() - before);
    if (communicator_ != nullptr) {
      DTNN_ASSIGN_OR_RETURN(const std::string exposure,
                            DescribeExposure(*communicator_, trainer_->totals().waited_seconds,
                                             trainer_->totals().training_seconds));
      out_ << exposure;
    }
    TellMore(DescribeWaiting(loaders_, seconds));
    return absl::OkStatus();
  }

  void Report(double seconds, int64_t epochs) {
    // The original's measure: validation samples count as well.
    const PassTotals& totals = trainer_->totals();
    const int64_t epoch_samples = totals.training_samples + totals.validation_samples;
    const double rate = double(epoch_samples * epochs) / seconds;
    out_ << absl::StrFormat("**** Done...\nTime: %.2f s\nThroughput: %.2f samples/s\n", seconds,
                            rate);
    if (epochs > 0) {
      out_ << absl::StrFormat("Time per epoch: %5.4f s\n", seconds / double(epochs));
    }
  }

  // Whether this rank writes files: one for all where they share a file system.
  bool Writes() const { return rank_ == 0 || !options_.shared_storage; }
  bool WritesCheckpoints() const { return rank_ == 0 || OwnCheckpoints(options_); }

  Communicator* const communicator_;  // null: one rank
  const int rank_, ranks_;
  Options options_;
  std::ostream silence_{nullptr};
  std::ostream &out_, &err_, &own_err_;  // the first two: of rank 0
  bool tells_of_checkpoints_;
  KeptModels kept_models_ = {.folder = options_.model_dir, .date = Today(), .writes = Writes()};
  MetricSet metric_set_;
  std::shared_ptr<const Optimizer> optimizer_;
  ProgressCallback progress_;
  PerformanceCounter performance_;
  LastMetrics last_metrics_;
  std::unique_ptr<DeviceContext> context_;
  std::shared_ptr<const Dataset> dataset_;
  DataFingerprint train_data_, test_data_;  // where somebody compares them
  std::optional<SavedModel> begun_with_;    // where its file says which network it is
  Graph graph_;
  Loaders loaders_;
  std::unique_ptr<ParameterStore> store_;
  std::unique_ptr<Trainer> trainer_;
  std::optional<Schedule> schedule_;
  CheckpointFolder checkpoint_folder_{options_.checkpoint_dir};
  std::optional<Checkpointer> checkpointer_;
  std::unique_ptr<History> history_;
};

}  // namespace

absl::Status RunBenchmark(const Options& options, Communicator* communicator, std::ostream& out,
                          std::ostream& err) {
  return BenchmarkRun(options, communicator, out, err).Run();
}

}  // namespace dtnn
