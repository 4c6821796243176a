// A run: loads the data, builds the network, trains it, tests it, saves it, and resumes, as its
// options say. Launchers, examples and the clients of a federation all use it.
//
//   RunOptions options = {.training = {.epochs = 10},
//                         .optimizer = {.name = "adam", .learning_rate = 1e-3},
//                         .checkpoint = {.folder = "run", .resume = "if-there"},
//                         .output = {.model = "mine.safetensors", .report = "run.html"}};
//   auto run = Run::Create(options, {.network = net, .dataset = data});
//   absl::Status trained = (*run)->Fit();
//
// On several ranks each creates it with its own communicator and the same options, and all call the
// same functions together. Rank 0 speaks for all; only of checkpoints of its own each rank warns
// itself. What is wrong on any of them before the work starts is an error on all, with the same
// exit code (comm/ranks/job/exit_code.h). Where a rank is lost later, the lowest one left writes a
// checkpoint of the last whole step (with RunOptions::checkpoint.folder), the others wait for it,
// and all end with the communicator's error. Errors name members as RunOptions::training.epochs.

#ifndef DTNN_MODELS_RUN_RUN_H_
#define DTNN_MODELS_RUN_RUN_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/ranks/job/interrupt.h"
#include "models/callbacks/checkpointer.h"
#include "models/callbacks/hand_over.h"
#include "models/callbacks/history.h"
#include "models/callbacks/last_metrics.h"
#include "models/callbacks/schedule.h"
#include "models/graph/graph.h"
#include "models/parameters/parameter_store.h"
#include "models/run/generation.h"
#include "models/run/lasting_run.h"
#include "models/run/observe/run_subject.h"
#include "models/run/observe/run_trace.h"
#include "models/run/observe/run_writers.h"
#include "models/run/options/run_options.h"
#include "models/run/prepared_run.h"
#include "models/run/run_log.h"
#include "models/run/run_objects.h"
#include "models/run/tables/performance_counter.h"
#include "models/serving/saved_model.h"
#include "models/training/callback.h"
#include "models/training/metric_averages.h"
#include "models/training/trainer.h"

namespace dtnn {

class Run {
 public:
  // Everything that can be wrong shows here: names, files, sizes, memory. A run of ranks that come
  // and go may get nullptr: this rank has a place in its next generation, and creates another.
  static absl::StatusOr<std::unique_ptr<Run>> Create(const RunOptions& options,
                                                     RunObjects objects = {});
  ~Run();  // End, of this rank alone

  // All that the options ask for: tests, training, the saved model.
  absl::Status Execute();

  // Or step by step. Fit trains all epochs that are left, and saves RunOptions::output.model.
  // Cancelled where a signal ended it, OutOfRange where it diverged.
  absl::Status Fit();
  // Loss and metrics of the test data; needs RunOptions::training.evaluate. After Fit they are also
  // written into the history, the page and the saved model.
  absl::StatusOr<MetricAverages> Evaluate();
  // Writes one file with network, parameters, preprocessing, class names and how it was trained
  // (models/serving/saved_model.h). Rank 0 writes; without shared storage each rank does.
  absl::Status Save(const std::string& path) const;
  // The page says that the run is over, and the trace of all ranks is written: all call it
  // together. Execute does it too. Nothing can be done with the run after it.
  void End();

  const RunOptions& options() const { return run_.options; }  // as they are in force
  const Graph& graph() const { return run_.graph; }
  const Dataset& dataset() const { return *run_.dataset; }
  ParameterStore& store() { return *store_; }
  Trainer& trainer() { return *trainer_; }
  // The last epoch's: "categorical_accuracy", "val_categorical_accuracy", ...
  const NamedMetrics& last_metrics() const { return last_metrics_.values(); }

  // For an elastic run that cannot continue, where this rank has kept a state that no generation
  // has begun with: saves a checkpoint, and returns `why` with where it is, and the exit code.
  static absl::Status SaveKept(const RunOptions& options, RunObjects objects,
                               const absl::Status& why);

 private:
  Run(const RunOptions& options, RunObjects objects);

  // run_begin.cc: up to the first step.
  absl::Status GetReady();
  absl::Status Allocate();
  absl::Status Begin();
  absl::Status GoOn();
  absl::Status CheckPlace();
  absl::Status MakeSchedule();
  RunParts Parts();
  void MakeCheckpointer();
  absl::Status Resume();
  absl::Status TakeLastMetrics(const std::string& checkpoint);

  // run_train.cc: training.
  absl::Status Train();
  absl::Status TrainThrough(std::span<Callback* const> callbacks, const Interrupt* interrupt);
  absl::Status TrainAsClient(std::span<Callback* const> callbacks, const Interrupt* interrupt);
  absl::Status ReportSpeed(double seconds);
  absl::Status MakeWriters();
  void LogGraphs();
  absl::Status LogPlan();

  // run.cc: the rest of the work.
  absl::Status Work();
  absl::StatusOr<MetricAverages> Test();
  absl::Status CheckOpen() const;
  absl::Status Finish(absl::Status status, bool together = true);
  void FinishTrace(bool together);

  // run_save.cc: what the run leaves behind.
  SavedModel Saved(const EpochRecord& epoch) const;
  EpochRecord Now() const;
  bool SavesTrained() const;
  absl::Status SaveTrainedWith(const NamedMetrics& test);
  absl::Status SaveTrained();
  absl::Status KeepTest(const MetricAverages& results);
  absl::Status SaveAfter(absl::Status status);
  absl::Status SaveThen(const absl::Status& status);
  absl::Status SaveWhatIsLeft(absl::Status status);
  bool SaveAlone(std::string& text);

  const RunOptions given_;
  LastingRun* const lasting_;
  const bool stop_on_signal_;
  RunTrace trace_;  // which loaders call, until they end
  PreparedRun run_;
  RunLog log_;
  PerformanceCounter performance_;
  LastMetrics last_metrics_;
  std::unique_ptr<ParameterStore> store_;
  std::unique_ptr<Trainer> trainer_;
  bool logged_graphs_ = false;
  bool begun_ = false, fitted_ = false, finished_ = false;
  std::optional<Schedule> schedule_;
  std::optional<Checkpointer> checkpointer_;
  std::optional<Generation> generation_;  // where ranks come and go
  std::unique_ptr<History> history_;
  RunWriters writers_;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_RUN_H_
