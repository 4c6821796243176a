#include "apps/benchmark_run.h"

#include <unistd.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "apps/exit_code.h"
#include "apps/interrupt.h"
#include "apps/make_dataset.h"
#include "apps/make_loaders.h"
#include "apps/make_schedulers.h"
#include "apps/make_training.h"
#include "apps/memory_table.h"
#include "apps/parameter_list.h"
#include "apps/paths.h"
#include "apps/progress_callback.h"
#include "apps/verbose.h"
#include "kernels/context.h"
#include "kernels/simd_target.h"
#include "models/checkpointer.h"
#include "models/fusion.h"
#include "models/history.h"
#include "models/parameter_store.h"
#include "models/schedule.h"
#include "models/table.h"
#include "models/trainer.h"
#include "models/weights.h"
#include "models/zoo/zoo.h"
#include "tensor/array_file.h"
#include "tensor/parallel_for.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

std::string Today() {
  const std::time_t now = std::time(nullptr);
  std::tm date = {};
  localtime_r(&now, &date);
  return absl::StrFormat("%04d%02d%02d", date.tm_year + 1900, date.tm_mon + 1, date.tm_mday);
}

Fusions FusionsOf(const Options& options) {
  return {.conv_bn = options.enable_fused_conv_bn,
          .conv_bn_relu = options.enable_fused_conv_bn_relu,
          .conv_relu = options.enable_fused_conv_relu,
          .bn_relu = options.enable_fused_bn_relu};
}

// Ends training after the step in which a signal came, with a checkpoint where there are any.
class StopOnSignal : public Callback {
 public:
  StopOnSignal(const Interrupt& interrupt, Trainer& trainer, Checkpointer* checkpointer)
      : interrupt_(interrupt), trainer_(trainer), checkpointer_(checkpointer) {}
  absl::Status OnBatchEnd(const Pass& /*pass*/) override {
    if (interrupt_.signal() == 0 || !trainer_.settled()) return absl::OkStatus();
    trainer_.Stop();
    return checkpointer_ == nullptr ? absl::OkStatus() : checkpointer_->Save();
  }

 private:
  const Interrupt& interrupt_;
  Trainer& trainer_;
  Checkpointer* checkpointer_;
};

class BenchmarkRun {
 public:
  BenchmarkRun(const Options& options, std::ostream& out)
      : options_(options), out_(out), progress_(DetectDisplay(STDOUT_FILENO), out) {}

  absl::Status Run() {
    DTNN_RETURN_IF_ERROR(Prepare());
    if (options_.evaluate || options_.evaluate_only) DTNN_RETURN_IF_ERROR(Evaluate());
    if (options_.evaluate_only) return absl::OkStatus();
    DTNN_RETURN_IF_ERROR(Train());
    return options_.evaluate ? Evaluate() : absl::OkStatus();
  }

 private:
  // What --quiet keeps back.
  void Tell(std::string_view text) {
    if (!options_.quiet) out_ << text << std::flush;
  }

  void TellMore(std::string_view text) {
    if (options_.verbose) out_ << text << std::flush;
  }

  // Everything that can be wrong with the options, the files or the machine shows here.
  absl::Status Prepare() {
    const Device device = options_.enable_gpu ? Device::Cuda(0) : Device::Cpu();
    absl::StatusOr<std::unique_ptr<DeviceContext>> context = DeviceContext::Create(device);
    if (!context.ok()) {
      return UsageError("--enable-gpu: " + std::string(context.status().message()));
    }
    context_ = *std::move(context);
    DTNN_ASSIGN_OR_RETURN(optimizer_, MakeOptimizer(options_));
    if (!options_.weights_and_bias_filename.empty()) {  // before the data are read
      DTNN_RETURN_IF_ERROR(ArrayFileReader::Open(options_.weights_and_bias_filename).status());
    }
    Tell(absl::StrCat("**** Loading ", options_.dataset, " dataset...\n"));
    DTNN_ASSIGN_OR_RETURN(const std::shared_ptr<const Dataset> dataset, MakeDataset(options_));
    FollowTargets(*dataset, options_);
    DTNN_ASSIGN_OR_RETURN(figures_, MakeFigures(options_));
    DTNN_RETURN_IF_ERROR(CheckFigures(figures_, *dataset));
    if (dataset->outputs() == 1 && dataset->target_kind() == TargetKind::kClass) {
      return UsageError(absl::StrCat("--dataset: the samples of ", std::string(dataset->name()),
                                     " are all of one class: there is nothing to learn"));
    }
    DTNN_ASSIGN_OR_RETURN(
        graph_,
        BuildModel(options_.model, {.format = FormatOf(options_),
                                    .sample = dataset->sample(),
                                    .classes = dataset->outputs(),
                                    .final_activation = figures_.loss->final_activation()}));
    DTNN_RETURN_IF_ERROR(Introduce(device));
    DTNN_ASSIGN_OR_RETURN(loaders_, MakeLoaders(options_, dataset));
    TellMore(DescribeLoaders(*dataset, loaders_));
    DTNN_ASSIGN_OR_RETURN(store_, ParameterStore::Create(graph_, *context_, ElementTypeOf(options_),
                                                         uint64_t(options_.random_seed)));
    DTNN_ASSIGN_OR_RETURN(trainer_, Trainer::Create(graph_, *store_, *context_,
                                                    {.figures = figures_,
                                                     .optimizer = optimizer_,
                                                     .learning_rate = options_.learning_rate,
                                                     .accumulate_steps = options_.accumulate_steps,
                                                     .clip_norm = options_.clip_norm,
                                                     .conv_variant = options_.conv_variant,
                                                     .random_seed = uint64_t(options_.random_seed),
                                                     .fusions = FusionsOf(options_)}));
    if (!options_.evaluate_only) DTNN_RETURN_IF_ERROR(MakeSchedule());
    if (!options_.checkpoint_dir.empty()) return MakeCheckpointer();
    return LoadStart();
  }

  // The table of layers, the parameters of the run, and what it runs on.
  absl::Status Introduce(Device device) {
    DTNN_ASSIGN_OR_RETURN(
        const std::string parameters,
        FormatParameterList(options_, {.threads_per_process = NumThreads(),
                                       .gpus_per_node = options_.enable_gpu ? 1 : 0}));
    Tell(absl::StrCat("**** ", graph_.name(), " model...\n",
                      FormatTable(graph_, ElementTypeOf(options_), device), parameters,
                      "**** Running on ", device.ToString()));
    if (device.is_cpu()) {
      Tell(absl::StrCat(" (", NumThreads(), " threads, ", std::string(SimdTarget()), ")"));
    }
    Tell("\n");
    TellMore(DescribeKernels(graph_, options_, device));
    for (const std::string& line : DescribeFusions(graph_, FusionsOf(options_)))
      Tell("Fusing " + line + "...\n");
    return absl::OkStatus();
  }

  absl::Status MakeSchedule() {
    DTNN_RETURN_IF_ERROR(MakeModelFolder());
    DTNN_ASSIGN_OR_RETURN(std::vector<std::shared_ptr<Scheduler>> schedulers,
                          MakeSchedulers(options_, figures_, loaders_.validation != nullptr));
    schedule_.emplace(
        *trainer_, *store_, *context_,
        ScheduleOptions{.schedulers = std::move(schedulers),
                        .say = [this](std::string_view line) { out_ << line << "\n"; },
                        .save =
                            [this](std::string_view, int64_t epoch, const Tensor& values,
                                   const std::string& previous) {
                              return SaveModel(epoch, values, previous);
                            }});
    return absl::OkStatus();
  }

  // A folder that cannot be written to must show before the first epoch, not behind it.
  absl::Status MakeModelFolder() {
    if (options_.model_dir.empty()) return absl::OkStatus();
    std::error_code error;
    std::filesystem::create_directories(options_.model_dir, error);
    if (!error) return absl::OkStatus();
    return absl::ErrnoToStatus(error.value(), absl::StrCat("--model-dir=", options_.model_dir,
                                                           ": the folder cannot be made"));
  }

  absl::Status MakeCheckpointer() {
    checkpointer_.emplace(RunParts{.graph = &graph_,
                                   .store = store_.get(),
                                   .context = context_.get(),
                                   .trainer = trainer_.get(),
                                   .schedule = &*schedule_,
                                   .optimizer = options_.optimizer},
                          CheckpointerOptions{.folder = ExpandRank(options_.checkpoint_dir, 0),
                                              .every_epochs = options_.checkpoint_freq,
                                              .every_steps = options_.checkpoint_steps,
                                              .say = [this](std::string_view line) {
                                                out_ << "warning: " << line << "\n";
                                              }});
    if (!options_.resume) {
      DTNN_RETURN_IF_ERROR(checkpointer_->Begin());
      return LoadStart();
    }
    DTNN_RETURN_IF_ERROR(trainer_->PrepareForTraining(loaders_.training->max_batch()));
    DTNN_ASSIGN_OR_RETURN(const std::string path, checkpointer_->Resume());
    Tell(path.empty() ? absl::StrCat("**** No checkpoint in ", options_.checkpoint_dir,
                                     " yet: beginning anew\n")
                      : absl::StrCat("**** Going on from ", path, ", ", trainer_->steps_done(),
                                     " steps done\n"));
    return absl::OkStatus();
  }

  // Writes the parameters that model_checkpoint kept, then deletes the file before.
  absl::StatusOr<std::string> SaveModel(int64_t epoch, const Tensor& values,
                                        const std::string& previous) {
    const std::string stem = absl::StrCat("model-", graph_.name(), "-epoch-");
    const std::filesystem::path folder = options_.model_dir;
    const std::string name = absl::StrCat(stem, epoch, "-", Today(), ".npz");
    DTNN_RETURN_IF_ERROR(SaveWeights((folder / name).string(), graph_, *store_, *context_, values));
    // What a checkpoint names is deleted only where it can be nothing else.
    const std::string old = std::filesystem::path(previous).filename().string();
    if (old.starts_with(stem) && old.ends_with(".npz") && old != name) {
      std::error_code ignored;
      std::filesystem::remove(folder / old, ignored);
    }
    return (folder / name).string();
  }

  // The parameters that the run begins with.
  absl::Status LoadStart() {
    const std::string& path = options_.weights_and_bias_filename;
    if (path.empty()) return absl::OkStatus();
    DTNN_ASSIGN_OR_RETURN(const LoadedWeights loaded,
                          LoadWeights(path, graph_, *store_, *context_,
                                      {.format = *ParseWeightsFormat(options_.weights_format),
                                       .partial = options_.weights_partial}));
    for (const std::string& warning : loaded.warnings) out_ << "warning: " << warning << "\n";
    Tell(absl::StrCat("**** Loaded ", loaded.parameters, " arrays of weights from ", path, "\n"));
    return absl::OkStatus();
  }

  absl::Status Evaluate() {
    Tell("**** Evaluating on test dataset...\n");
    const Stopwatch watch;
    Callback* const callbacks[] = {&progress_};
    DTNN_RETURN_IF_ERROR(trainer_->Evaluate(*loaders_.test, callbacks).status());
    const double seconds = watch.seconds();
    if (options_.evaluate_only) {
      out_ << absl::StrFormat("Testing time: %5.4f s\nTesting throughput: %5.4f samples/s\n",
                              seconds, double(loaders_.test->samples()) / seconds);
    }
    return absl::OkStatus();
  }

  absl::Status Train() {
    std::unique_ptr<History> history;
    std::vector<Callback*> callbacks = {&progress_};
    if (!options_.history_file.empty()) {
      DTNN_ASSIGN_OR_RETURN(history, History::Create(ExpandRank(options_.history_file, 0),
                                                     *trainer_, trainer_->epochs_done()));
      callbacks.push_back(history.get());
    }
    callbacks.push_back(&*schedule_);
    Checkpointer* const checkpointer = checkpointer_ ? &*checkpointer_ : nullptr;
    if (checkpointer != nullptr) callbacks.push_back(checkpointer);
    const Interrupt interrupt;
    StopOnSignal stop(interrupt, *trainer_, checkpointer);
    callbacks.push_back(&stop);
    if (options_.verbose) {
      DTNN_RETURN_IF_ERROR(trainer_->PrepareForTraining(loaders_.training->max_batch()));
      TellMore("**** Memory of training:\n" + FormatMemory(graph_, store_->dtype(),
                                                           *trainer_->training_memory(),
                                                           optimizer_.get()));
    }
    Tell("**** Training...\n");
    const Stopwatch watch;
    const int64_t before = trainer_->epochs_done();
    DTNN_RETURN_IF_ERROR(trainer_->Train(*loaders_.training, loaders_.validation.get(),
                                         options_.num_epochs, callbacks));
    if (const int signal = interrupt.signal()) {
      return WithExitCode(
          absl::CancelledError(absl::StrCat(
              "stopped by ", SignalName(signal), " after ", trainer_->steps_done(), " steps",
              checkpointer == nullptr ? "; --checkpoint-dir would have saved the run"
                                      : "; --resume goes on from here")),
          ExitCodeOfSignal(signal));
    }
    if (trainer_->stopped() && trainer_->epochs_done() == before) {
      Tell("**** A scheduler has ended this run: nothing is left to train\n");
    }
    Report(watch.seconds(), trainer_->epochs_done() - before);
    TellMore(DescribeWaiting(loaders_, watch.seconds()));
    return absl::OkStatus();
  }

  void Report(double seconds, int64_t epochs) {
    const int64_t held_out = loaders_.validation == nullptr ? 0 : loaders_.validation->samples();
    // The original's measure: validation samples count as well.
    const double rate = double((loaders_.training->samples() + held_out) * epochs) / seconds;
    out_ << absl::StrFormat("**** Done...\nTime: %.2f s\nThroughput: %.2f samples/s\n", seconds,
                            rate);
    if (epochs > 0) {
      out_ << absl::StrFormat("Time per epoch: %5.4f s\n", seconds / double(epochs));
    }
  }

  Options options_;
  std::ostream& out_;
  Figures figures_;
  std::shared_ptr<const Optimizer> optimizer_;
  ProgressCallback progress_;
  std::unique_ptr<DeviceContext> context_;
  Graph graph_;
  Loaders loaders_;
  std::unique_ptr<ParameterStore> store_;
  std::unique_ptr<Trainer> trainer_;
  std::optional<Schedule> schedule_;
  std::optional<Checkpointer> checkpointer_;
};

}  // namespace

absl::Status RunBenchmark(const Options& options, std::ostream& out) {
  return BenchmarkRun(options, out).Run();
}

}  // namespace dtnn
