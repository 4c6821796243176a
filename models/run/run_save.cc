#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "comm/ranks/job/exit_code.h"
#include "comm/ranks/job/ranks.h"
#include "comm/ranks/job/save_after_loss.h"
#include "models/run/parts/model_file.h"
#include "models/run/parts/rank_options.h"
#include "models/run/parts/run_identity.h"
#include "models/run/run_work.h"
#include "tensor/status_macros.h"
#include "tensor/text/str_cat.h"
#include "tensor/trace/observer.h"

namespace dtnn {

RunIdentity RunWork::Identity() const {
  return MakeRunIdentity(run_.options, *run_.optimizer, *run_.dataset, run_.train_data,
                         run_.loaders);
}

// What files of the model say besides its parameters, which are those after that epoch.
SavedModel RunWork::Saved(const EpochRecord& epoch) const {
  ModelDescription description = DescribeModel(run_.options, *run_.dataset);
  if (description.class_names.empty() && run_.initial_model) {  // which data without names keep
    description.class_names = run_.initial_model->description.class_names;
  }
  description.training.learning_rate = InitialLearningRate(run_.options, run_.ranks);
  description.training.constants = run_.optimizer->constants();
  for (const IdentityMember& member : Identity().members) {
    if (member.may_change == MayChange::kNever) continue;  // names of classes, which are there
    description.training.identity.emplace_back(member.file_key(), member.value);
  }
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
EpochRecord RunWork::Now() const {
  if (schedule_ && schedule_->restored()) return *schedule_->restored();
  return {.epoch = trainer_->epochs_done(), .metrics = last_metrics_.values()};
}

bool RunWork::SavesTrained() const { return !run_.options.output.model.empty() && run_.Writes(); }

absl::Status RunWork::SaveTrainedWith(const NamedMetrics& test) {
  SavedModel model = Saved(Now());
  std::ranges::copy(test, std::back_inserter(model.description.training.metrics));
  return SaveModel(run_.options.output.model, model, *store_, *run_.context);
}

// Before the test, so that nothing that happens during it takes the model away.
absl::Status RunWork::SaveTrained() {
  if (!SavesTrained()) return absl::OkStatus();
  DTNN_RETURN_IF_ERROR(SaveTrainedWith({}));
  log_.Log(StrCat("**** Saved the model as ", run_.options.output.model, "\n"));
  return absl::OkStatus();
}

absl::Status RunWork::KeepTest(const MetricAverages& results) {
  DTNN_RETURN_IF_ERROR(writers_.SetTest(results));
  if (history_ != nullptr) DTNN_RETURN_IF_ERROR(history_->AddTest(results.Values("test_")));
  return SavesTrained() ? SaveTrainedWith(results.Values("test_")) : absl::OkStatus();
}

// What a run that failed has done so far.
absl::Status RunWork::SaveAfter(absl::Status status) {
  const ScopedObserver watching = trace_.Watch();
  // Files of data that are gone may be gone for all ranks, so that none is left to save.
  if (absl::IsDataLoss(status) && run_.WritesCheckpoints()) status = SaveThen(status);
  if (run_.communicator == nullptr) return status;
  if (generation_ && generation_->JoinNextAfterLoss(status)) return absl::OkStatus();
  run_.communicator->Abort(status);  // where it was not the communicator that failed
  return SaveWhatIsLeft(std::move(status));
}

// What training has done before its data failed is kept.
absl::Status RunWork::SaveThen(const absl::Status& status) {
  if (!checkpointer_ || trainer_->steps_done() == 0) return status;
  std::string text(status.message());
  SaveAlone(text);
  return absl::Status(status.code(), text);
}

// A rank is gone and this one is not: what all have computed so far must not be lost. One saves
// it, and the others stay until it has, since launchers end all processes soon after the first.
// What every rank writes for itself it saves itself. Trying again makes sense where a peer was
// lost, not where one gave up, nor where the disk takes nothing.
absl::Status RunWork::SaveWhatIsLeft(absl::Status status) {
  const std::vector<int> lost = run_.communicator->lost();
  if (trainer_->diverged()) return WithExitCode(std::move(status), kExitFailed);
  if (!checkpointer_ || std::ranges::count(lost, run_.rank) > 0) return status;
  std::string text(status.message());
  log_.WarnForItself();  // rank 0 may be the one that is gone
  const auto save = [&] { return SaveAlone(text); };
  const bool saved =
      OwnCheckpoints(run_.options) ? save() : SaveAfterLoss(*run_.communicator, save);
  return WithExitCode(absl::Status(status.code(), text),
                      saved && IsLossOfPeer(status) ? kExitPeerLost : ExitCodeOf(status));
}

// Whether there is something to continue from, and a disk that takes more; `text` says so.
bool RunWork::SaveAlone(std::string& text) {
  if (!checkpointer_ || !epoch_ends_) return false;
  if (lasting_ != nullptr && history_ != nullptr) {  // the rank that wrote it may be gone
    const absl::Status written = history_->WriteWhatIsMissing();
    if (!written.ok()) StrAppend(&text, "; the history is not written: ", written.message());
  }
  const absl::Status saved = checkpointer_->SaveAlone(*epoch_ends_);
  if (!saved.ok()) StrAppend(&text, "; the last step cannot be saved: ", saved.message());
  const std::string& newest = checkpointer_->newest();
  std::error_code error;
  const bool there = !newest.empty() && std::filesystem::exists(newest, error);
  if (there) StrAppend(&text, "; RunOptions::checkpoint.resume continues from ", newest);
  // An incomplete step is not the disk's fault.
  return there && (saved.ok() || absl::IsFailedPrecondition(saved));
}

absl::Status RunWork::Save(const std::string& path) const {
  if (!run_.Writes()) return absl::OkStatus();
  return SaveModel(path, Saved(Now()), *store_, *run_.context);
}

}  // namespace dtnn
