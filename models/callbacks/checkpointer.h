// Saves the state of a run while it trains, and restores the newest one: parameters, optimizer
// state, random numbers, place in the epoch, schedulers (models/checkpoint/training_state.h). A run
// that resumes continues bit for bit, but for the rounding of the metrics of an epoch that was
// interrupted on several ranks.

#ifndef DTNN_MODELS_CALLBACKS_CHECKPOINTER_H_
#define DTNN_MODELS_CALLBACKS_CHECKPOINTER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "models/callbacks/epoch_ends.h"
#include "models/callbacks/schedule.h"
#include "models/checkpoint/checkpoint_folder.h"
#include "models/checkpoint/run_identity.h"
#include "models/graph/graph.h"
#include "models/parameters/parameter_store.h"
#include "models/training/callback.h"
#include "models/training/trainer.h"
#include "tensor/files/named_tensors.h"

namespace dtnn {

// The parts of a run that a checkpoint holds; all must outlive the checkpointer.
struct RunParts {
  const Graph* graph = nullptr;
  ParameterStore* store = nullptr;
  DeviceContext* context = nullptr;
  Trainer* trainer = nullptr;
  Schedule* schedule = nullptr;
  std::string optimizer;  // its name
  // Saved, and compared with those of the run that this one continues; none: not done.
  std::optional<RunIdentity> identity = {};
  // The first learning rate of a run on so many ranks; null: the rate of a checkpoint stays as it
  // is.
  std::function<double(int64_t ranks)> first_rate = {};
  // Texts of a checkpoint that is written now, in addition to those of weights; null: none.
  std::function<NamedTexts()> tags = {};
};

struct CheckpointerOptions {
  CheckpointFolder folder;  // prepared already, or not yet
  int64_t every_epochs = 1;
  int64_t every_steps = 0;  // batches within an epoch; 0: not within
  bool writes = true;       // false: takes its part in what ranks do together, but another writes
  std::function<void(std::string_view line)> say = {};  // for warnings; null: they are dropped
};

// Must come after the schedule among the callbacks, because it saves the schedule's state.
class Checkpointer : public Callback {
 public:
  Checkpointer(const RunParts& run, const CheckpointerOptions& options)
      : run_(run), options_(options), folder_(options.folder) {}

  // Resumes from the newest checkpoint and returns its path, or "" if there is none yet. The
  // trainer must be prepared for training. If the checkpoint does not fit, nothing changes: an
  // interrupted epoch continues only with the same data and settings. Between epochs they may
  // change, with a warning (run_identity.h); where the metrics before and after cannot be compared,
  // schedulers forget their best values. The learning rate may always change: reductions by
  // schedules are then applied to the new first rate. All ranks call it together and resume from
  // the same checkpoint. If each has its own folder, that is the newest one that all have, because
  // one rank may have ended while another was saving. FailedPrecondition if some ranks have none.
  absl::StatusOr<std::string> Resume();
  // After Resume and before the first Save; as late as possible, so that a run that is refused
  // leaves the folder as it was. The rank that writes renames the checkpoints that are newer than
  // the one it resumed from (CheckpointFolder::SetAsideAfter).
  absl::Status SetAsideNewer();
  // For a new run: refused if the folder contains another run's checkpoints.
  absl::Status Begin() { return Prepare(/*resume=*/false); }
  // Saves the current state; only between two updates (StepEngine::settled). All ranks call it
  // together.
  absl::Status Save();
  // Saves where the run is as this rank knows it without the others. Writes even if options.writes
  // is false.
  absl::Status SaveAlone(const EpochEnds& ends);
  // The newest checkpoint of this run that this rank wrote or resumed from; "" before there is one.
  const std::string& newest() const { return newest_; }

  absl::Status OnBatchEnd(const Pass& pass) override;
  absl::Status OnEpochEnd(const Pass& training, const Pass* validation) override;

 private:
  absl::Status Prepare(bool resume);
  absl::StatusOr<CheckpointFolder::Latest> NewestHere(int64_t most_steps);
  absl::StatusOr<CheckpointFolder::Latest> NewestOfAll();
  void Say(const std::vector<std::string>& warnings) const;
  absl::StatusOr<ForgetfulSchedulers> CompareIdentity(const std::string& path,
                                                      const RunState& saved) const;
  void CompareLength(const RunState& saved) const;
  void FollowFirstRate(const RunState& saved);
  absl::Status Write(TrainingState training, std::optional<ExchangeState> exchange);

  const RunParts run_;
  const CheckpointerOptions options_;
  CheckpointFolder folder_;
  std::string newest_;
  int64_t resumed_steps_ = INT64_MAX;  // of the checkpoint that it resumed from; -1: there was none
  bool due_ = false;                   // as soon as the trainer is settled
};

}  // namespace dtnn

#endif  // DTNN_MODELS_CALLBACKS_CHECKPOINTER_H_
