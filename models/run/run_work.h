// The work of a run: what Run (run.h) and the ranks of an elastic run (elastic_run.h) do with one.

#ifndef DTNN_MODELS_RUN_RUN_WORK_H_
#define DTNN_MODELS_RUN_RUN_WORK_H_

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
#include "data/loading/loader.h"
#include "models/callbacks/checkpointer.h"
#include "models/callbacks/epoch_ends.h"
#include "models/callbacks/history.h"
#include "models/callbacks/last_metrics.h"
#include "models/callbacks/schedule.h"
#include "models/checkpoint/run_identity.h"
#include "models/parameters/parameter_store.h"
#include "models/run/generation.h"
#include "models/run/lasting_run.h"
#include "models/run/objects/run_log.h"
#include "models/run/objects/run_objects.h"
#include "models/run/observe/run_trace.h"
#include "models/run/observe/run_writers.h"
#include "models/run/options/run_options.h"
#include "models/run/prepare/prepared_run.h"
#include "models/run/tables/performance_counter.h"
#include "models/serving/saved_model.h"
#include "models/training/callback.h"
#include "models/training/rates/learning_rate_range.h"
#include "models/training/step/metric_averages.h"
#include "models/training/step/trainer_options.h"
#include "models/training/trainer.h"

namespace dtnn {

class RunWork {
 public:
  // `lasting`: of an elastic run, else null.
  RunWork(const RunOptions& options, RunObjects objects, LastingRun* lasting = nullptr);

  // run_begin.cc, run_rate.cc: up to the first step.
  absl::Status GetReady();
  // Trains so many epochs next, from where the run is; schedules begin anew.
  absl::Status PlanEpochs(int64_t epochs);

  // run_train.cc
  absl::Status Train();
  // Whether a callback stopped the last training: it can be continued.
  bool interrupted() const { return interrupted_; }

  // run_work.cc: the rest of the work.
  // All that the options ask for.
  absl::Status Work();
  // For a test on any data that fit the network; the same error on all ranks. `undivided`: each
  // rank tests all samples.
  absl::StatusOr<std::unique_ptr<Loader>> LoaderOf(std::shared_ptr<const Dataset> data, Split split,
                                                   bool undivided);
  // Cancelled where a callback stopped it. `doing`: for the log.
  absl::StatusOr<MetricAverages> Test(Loader& loader,
                                      std::string_view doing = "Evaluating on test dataset");
  bool test_stopped() const { return test_stopped_; }  // the last one
  // Once, at the end: with `status`, perhaps after a checkpoint of what there is to save, and that
  // is returned with where it is. `together`: the other ranks do it now too.
  absl::Status Finish(absl::Status status, bool together = true);
  bool finished() const { return finished_; }

  // run_save.cc: what the run leaves behind.
  absl::Status Save(const std::string& path) const;
  absl::Status SaveTrained();
  // The results after training, in all files that say how the run went.
  absl::Status KeepTest(const MetricAverages& results);
  // A checkpoint of what this rank has, without the others: whether there is one to continue from;
  // `text` says so.
  bool SaveAlone(std::string& text);

  const PreparedRun& run() const { return run_; }
  ParameterStore& store() { return *store_; }
  Trainer& trainer() { return *trainer_; }
  const NamedMetrics& last_metrics() const { return last_metrics_.values(); }
  RunLog& log() { return log_; }
  std::optional<Generation>& generation() { return generation_; }

 private:
  // From a checkpoint. A client of a federation keeps less (federated/own_parameters.h).
  bool ResumesRun() const { return Resumes(run_.options) && run_.proximal == nullptr; }
  TrainerOptions Training();
  absl::Status FindRate();
  absl::Status Allocate();
  absl::Status Begin();
  absl::Status GoOn();
  absl::Status CheckPlace();
  absl::Status MakeSchedule();
  RunParts Parts();
  void MakeCheckpointer();
  absl::Status Resume();
  absl::Status TakeLastMetrics(const std::string& checkpoint);

  absl::Status TrainThrough(std::span<Callback* const> callbacks, const Interrupt* interrupt);
  absl::Status TrainAsClient(std::span<Callback* const> callbacks, const Interrupt* interrupt);
  absl::Status ReportSpeed();
  absl::Status MakeWriters();
  void LogGraphs();
  absl::Status LogPlan();

  void FinishTrace(bool together);
  void LeaveCheckpoints();

  RunIdentity Identity() const;
  SavedModel Saved(const EpochRecord& epoch) const;
  EpochRecord Now() const;
  bool SavesTrained() const;
  absl::Status SaveTrainedWith(const NamedMetrics& test);
  absl::Status SaveAfter(absl::Status status);
  absl::Status SaveThen(const absl::Status& status);
  absl::Status SaveWhatIsLeft(absl::Status status);

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
  LearningRateRange rates_;  // of FindRate
  double seconds_ = 0;       // of training
  bool logged_graphs_ = false, finished_ = false, test_stopped_ = false;
  bool set_aside_ = false, interrupted_ = false;
  std::vector<std::vector<double>> fresh_;  // states of RunObjects::schedulers at the beginning
  std::optional<Schedule> schedule_;
  std::optional<EpochEnds> epoch_ends_;  // where something is saved or handed over
  std::optional<Checkpointer> checkpointer_;
  std::optional<Generation> generation_;  // where ranks come and go
  std::unique_ptr<History> history_;
  bool made_writers_ = false;
  RunWriters writers_;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_RUN_WORK_H_
