#include "models/run/run.h"

#include <utility>

#include "data/loading/loader.h"
#include "models/run/parts/model_file.h"
#include "models/run/run_work.h"
#include "tensor/errors.h"
#include "tensor/status_macros.h"

namespace dtnn {

Run::Run(std::unique_ptr<RunWork> work)
    : work_(std::move(work)), epochs_(work_->run().options.training.epochs) {}

Run::~Run() {
  if (work_->finished()) return;
  // Other ranks may be elsewhere by now.
  work_->Finish(absl::OkStatus(), /*together=*/work_->run().ranks == 1).IgnoreError();
}

absl::StatusOr<std::unique_ptr<Run>> Run::Create(const RunOptions& options, RunObjects objects) {
  auto work = std::make_unique<RunWork>(options, std::move(objects));
  DTNN_RETURN_IF_ERROR(work->GetReady());
  return std::unique_ptr<Run>(new Run(std::move(work)));
}

absl::StatusOr<RunOptions> Run::OptionsOfModel(const std::string& path) {
  return dtnn::OptionsOfModel(path);
}

absl::Status Run::CheckOpen() const {
  if (!work_->finished()) return absl::OkStatus();
  return FailedPrecondition("this run has ended; Run::Create begins another, which can resume");
}

// Parameters are those of the last whole step where a signal or a callback ended the run.
absl::Status Run::CheckHolds() const { return cancelled_ ? absl::OkStatus() : CheckOpen(); }

absl::Status Run::CheckTrains() const {
  DTNN_RETURN_IF_ERROR(CheckOpen());
  if (!options().training.evaluate_only) return absl::OkStatus();
  return FailedPrecondition("RunOptions::training.evaluate_only: this run does not train");
}

absl::Status Run::Train() {
  absl::Status status = work_->Train();
  if (status.ok()) status = work_->SaveTrained();
  fitted_ = status.ok();
  cancelled_ = absl::IsCancelled(status) && work_->run().ranks == 1;
  return status.ok() ? status : work_->Finish(std::move(status));
}

absl::Status Run::Fit() {
  DTNN_RETURN_IF_ERROR(CheckTrains());
  const int64_t left = epochs_ - trainer().epochs_done();
  if (!fitted_ || (!whole_ && left > 0)) {
    // Where these epochs are planned already, schedules continue.
    if (options().training.epochs != epochs_) return Fit(left);
    const absl::Status status = Train();
    whole_ = status.ok() && !work_->interrupted();
    return status;
  }
  return FailedPrecondition("this run has trained all its epochs; Run::Fit(n) trains n more");
}

absl::Status Run::Fit(int64_t epochs) {
  DTNN_RETURN_IF_ERROR(CheckTrains());
  DTNN_RETURN_IF_ERROR(work_->PlanEpochs(epochs));
  const absl::Status status = Train();
  whole_ = status.ok() && !work_->interrupted() && options().training.epochs == epochs_;
  return status;
}

absl::StatusOr<MetricAverages> Run::EvaluateOn(std::shared_ptr<const Dataset> data, Split split,
                                               bool undivided, bool after_training) {
  DTNN_RETURN_IF_ERROR(CheckHolds());
  DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<Loader> loader,
                        work_->LoaderOf(std::move(data), split, undivided));
  absl::StatusOr<MetricAverages> averages =
      work_->Test(*loader, undivided                ? "Predicting"
                           : split == Split::kTrain ? "Evaluating on training dataset"
                                                    : "Evaluating on test dataset");
  if (work_->test_stopped()) return averages;
  absl::Status status = averages.status();
  if (status.ok() && after_training) status = work_->KeepTest(*averages);
  if (!status.ok()) return work_->Finish(std::move(status));
  return averages;
}

absl::StatusOr<MetricAverages> Run::Evaluate(Split split) {
  return EvaluateOn(work_->run().dataset, split, /*undivided=*/false,
                    /*after_training=*/fitted_ && split == Split::kTest);
}

absl::StatusOr<MetricAverages> Run::Evaluate(const Dataset& data, Split split, bool undivided) {
  return EvaluateOn(DatasetRef(data), split, undivided, /*after_training=*/false);
}

absl::Status Run::Save(const std::string& path) const {
  DTNN_RETURN_IF_ERROR(CheckHolds());
  return work_->Save(path);
}

absl::StatusOr<RunNeeds> Run::Needs(const RunOptions& options, const RunObjects& objects,
                                    int ranks) {
  return FindNeeds(options, objects, ranks);
}

absl::Status Run::Execute() {
  DTNN_RETURN_IF_ERROR(CheckOpen());
  if (fitted_) {
    return FailedPrecondition(
        "Run::Execute: this run has trained by Run::Fit; Execute trains and tests a new run");
  }
  return work_->Finish(work_->Work());
}

void Run::End() {
  cancelled_ = false;
  if (!work_->finished()) work_->Finish(absl::OkStatus()).IgnoreError();
}

bool Run::ended() const { return work_->finished(); }

const RunOptions& Run::options() const { return work_->run().options; }
const Graph& Run::graph() const { return work_->run().graph; }
const Dataset& Run::dataset() const { return *work_->run().dataset; }
std::shared_ptr<const Dataset> Run::shared_dataset() const { return work_->run().dataset; }
ParameterStore& Run::store() { return work_->store(); }
DeviceContext& Run::context() { return *work_->run().context; }
Trainer& Run::trainer() { return work_->trainer(); }
const NamedMetrics& Run::last_metrics() const { return work_->last_metrics(); }

}  // namespace dtnn
