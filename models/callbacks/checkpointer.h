// Saves the state of a run while it trains, and brings the newest one back.

#ifndef DTNN_MODELS_CALLBACKS_CHECKPOINTER_H_
#define DTNN_MODELS_CALLBACKS_CHECKPOINTER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "models/callbacks/schedule.h"
#include "models/checkpoint/checkpoint_folder.h"
#include "models/checkpoint/run_settings.h"
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
  // Saved, and compared with those of the run that this one continues; none: neither.
  std::optional<RunSettings> settings = {};
  // The rate that a run on so many ranks begins with; null: that of a checkpoint stays as it is.
  std::function<double(int64_t ranks)> first_rate = {};
  // Of a checkpoint of now, beside those of weights; null: none.
  std::function<NamedTexts()> tags = {};
};

struct CheckpointerOptions {
  CheckpointFolder folder;  // prepared already, or not yet
  int64_t every_epochs = 1;
  int64_t every_steps = 0;  // batches within an epoch; 0: not within
  bool writes = true;       // false: takes its part in what ranks do together, but another writes
  std::function<void(std::string_view line)> say = {};  // warnings; null: nobody listens
};

// Comes after the schedule among the callbacks, whose state it saves.
class Checkpointer : public Callback {
 public:
  Checkpointer(const RunParts& run, const CheckpointerOptions& options)
      : run_(run), options_(options), folder_(options.folder) {}

  // Goes on from the newest checkpoint and returns its path, or "" where there is none yet. The
  // trainer must be prepared for training. Nothing changes where the checkpoint does not fit: an
  // epoch left in its middle goes on with the same data and settings only. Between epochs they may
  // change, which is said, and the learning rate always: what schedules had made of the rate that
  // the run began with, they now have made of the one of now. All ranks call it together and go on
  // from the same place: where each has a folder of its own, from the newest that all have, as one
  // may have ended while another saved. FailedPrecondition where some have none.
  absl::StatusOr<std::string> Resume();
  // After Resume, before the first Save, and as late as possible: a run that is refused leaves the
  // folder as it was. Who writes gives up what is newer than the place that it goes on from
  // (CheckpointFolder::GiveUpAfter).
  absl::Status GiveUpNewer();
  // For a run that begins anew: refused where another run's checkpoints are.
  absl::Status Begin() { return Prepare(/*resume=*/false); }
  // The state of this moment: between two updates (StepEngine::settled). All ranks call it
  // together.
  absl::Status Save();
  // What a rank that was left alone still knows (Trainer::StateAlone). Writes whatever the options
  // say.
  absl::Status SaveAlone();
  // The newest checkpoint of this run that this rank wrote or went on from; "" before there is one.
  const std::string& newest() const { return newest_; }

  absl::Status OnBatchEnd(const Pass& pass) override;
  absl::Status OnEpochEnd(const Pass& training, const Pass* validation) override;

 private:
  absl::Status Prepare(bool resume);
  absl::StatusOr<CheckpointFolder::Latest> NewestHere(int64_t most_steps);
  absl::StatusOr<CheckpointFolder::Latest> NewestOfAll();
  void Say(const std::vector<std::string>& warnings) const;
  absl::Status CompareSettings(const std::string& path, const RunState& saved) const;
  void FollowFirstRate(const RunState& saved);
  absl::Status Write(TrainingState training);

  const RunParts run_;
  const CheckpointerOptions options_;
  CheckpointFolder folder_;
  std::string newest_;
  int64_t resumed_steps_ = INT64_MAX;  // of the checkpoint that it went on from; -1: there was none
  bool due_ = false;                   // as soon as the trainer is settled
};

}  // namespace dtnn

#endif  // DTNN_MODELS_CALLBACKS_CHECKPOINTER_H_
