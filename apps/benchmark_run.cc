#include "apps/benchmark_run.h"

#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "apps/assemble.h"
#include "apps/exit_code.h"
#include "apps/parameter_list.h"
#include "apps/progress_callback.h"
#include "kernels/context.h"
#include "kernels/simd_target.h"
#include "models/parameter_store.h"
#include "models/table.h"
#include "models/trainer.h"
#include "models/zoo/zoo.h"
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

class BenchmarkRun {
 public:
  BenchmarkRun(const Options& options, std::ostream& out)
      : options_(options),
        out_(out),
        figures_(MakeFigures(options)),
        progress_(DetectDisplay(STDOUT_FILENO), out) {}

  absl::Status Run() {
    DTNN_RETURN_IF_ERROR(Prepare());
    if (options_.evaluate || options_.evaluate_only) DTNN_RETURN_IF_ERROR(Evaluate());
    if (options_.evaluate_only) return absl::OkStatus();
    DTNN_RETURN_IF_ERROR(Train());
    return options_.evaluate ? Evaluate() : absl::OkStatus();
  }

 private:
  // Everything that can be wrong with the options, the files or the machine shows here.
  absl::Status Prepare() {
    const Device device = options_.enable_gpu ? Device::Cuda(0) : Device::Cpu();
    absl::StatusOr<std::unique_ptr<DeviceContext>> context = DeviceContext::Create(device);
    if (!context.ok()) {
      return UsageError("--enable-gpu: " + std::string(context.status().message()));
    }
    context_ = *std::move(context);
    out_ << "**** Loading " << options_.dataset << " dataset...\n" << std::flush;
    DTNN_ASSIGN_OR_RETURN(const std::shared_ptr<const Dataset> dataset, MakeDataset(options_));
    DTNN_ASSIGN_OR_RETURN(const Graph graph,
                          BuildModel(options_.model, {.format = FormatOf(options_),
                                                      .sample = dataset->sample(),
                                                      .classes = dataset->outputs()}));
    DTNN_ASSIGN_OR_RETURN(
        const std::string parameters,
        FormatParameterList(options_, {.threads_per_process = NumThreads(),
                                       .gpus_per_node = options_.enable_gpu ? 1 : 0}));
    out_ << "**** " << graph.name() << " model...\n"
         << FormatTable(graph, ElementTypeOf(options_), device) << parameters << std::flush;
    out_ << "**** Running on " << device.ToString();
    if (device.is_cpu()) out_ << " (" << NumThreads() << " threads, " << SimdTarget() << ")";
    out_ << "\n" << std::flush;
    DTNN_ASSIGN_OR_RETURN(loaders_, MakeLoaders(options_, dataset));
    DTNN_ASSIGN_OR_RETURN(store_, ParameterStore::Create(graph, *context_, ElementTypeOf(options_),
                                                         uint64_t(options_.random_seed)));
    DTNN_ASSIGN_OR_RETURN(trainer_,
                          Trainer::Create(graph, *store_, *context_,
                                          {.figures = figures_,
                                           .optimizer = MakeOptimizer(options_),
                                           .learning_rate = options_.learning_rate,
                                           .conv_variant = options_.conv_variant,
                                           .random_seed = uint64_t(options_.random_seed)}));
    return absl::OkStatus();
  }

  absl::Status Evaluate() {
    out_ << "**** Evaluating on test dataset...\n" << std::flush;
    const Stopwatch watch;
    DTNN_RETURN_IF_ERROR(trainer_->Evaluate(*loaders_.test, callbacks_).status());
    const double seconds = watch.seconds();
    if (options_.evaluate_only) {
      out_ << absl::StrFormat("Testing time: %5.4f s\nTesting throughput: %5.4f samples/s\n",
                              seconds, double(loaders_.test->samples()) / seconds);
    }
    return absl::OkStatus();
  }

  absl::Status Train() {
    out_ << "**** Training...\n" << std::flush;
    const Stopwatch watch;
    DTNN_RETURN_IF_ERROR(trainer_->Train(*loaders_.training, loaders_.validation.get(),
                                         options_.num_epochs, callbacks_));
    const double seconds = watch.seconds();
    const int64_t epochs = trainer_->epochs_done();
    const int64_t held_out = loaders_.validation == nullptr ? 0 : loaders_.validation->samples();
    // The original's measure: validation samples count as well.
    const double rate = double((loaders_.training->samples() + held_out) * epochs) / seconds;
    out_ << absl::StrFormat("**** Done...\nTime: %.2f s\nThroughput: %.2f samples/s\n", seconds,
                            rate);
    if (epochs > 0) {
      out_ << absl::StrFormat("Time per epoch: %5.4f s\n", seconds / double(epochs));
    }
    return absl::OkStatus();
  }

  const Options options_;
  std::ostream& out_;
  const Figures figures_;
  ProgressCallback progress_;
  Callback* const callbacks_[1] = {&progress_};
  std::unique_ptr<DeviceContext> context_;
  Loaders loaders_;
  std::unique_ptr<ParameterStore> store_;
  std::unique_ptr<Trainer> trainer_;
};

}  // namespace

absl::Status RunBenchmark(const Options& options, std::ostream& out) {
  return BenchmarkRun(options, out).Run();
}

}  // namespace dtnn
