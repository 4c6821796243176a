// The checkpoints of one run in one folder: checkpoint-<steps>.npz, of which the newest few stay.
//
// Whatever happens, be it a full disk or a process killed at any moment, the folder holds a
// checkpoint that loads as soon as the first was written: older ones are deleted only when a newer
// one is complete and on the disk. A damaged file is passed over for the one before it.
// One process at a time may write into a folder, which a lock sees to. Errors name the folder or
// file.

#ifndef DTNN_MODELS_CHECKPOINT_CHECKPOINT_FOLDER_H_
#define DTNN_MODELS_CHECKPOINT_CHECKPOINT_FOLDER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/context.h"
#include "models/checkpoint/checkpoint.h"
#include "models/graph/graph.h"
#include "models/parameters/parameter_store.h"
#include "tensor/files/folder_lock.h"

namespace dtnn {

// Copies share the lock.
class CheckpointFolder {
 public:
  // `keep`: how many checkpoints stay, at least 1.
  explicit CheckpointFolder(std::string_view folder, int keep = 2);

  // For who writes: makes the folder where there is none, sees that files can be written there,
  // locks it until this and all copies are gone, and clears away what a killed run left half
  // written. FailedPrecondition where another process has it, and, for a run that begins anew,
  // where another run's checkpoints are. Returns a line where the file system has no locks.
  absl::StatusOr<std::vector<std::string>> Prepare(bool resume);

  // Whether there is a checkpoint that opens: what can be said of any run's folder, for a process's
  // last word.
  bool HoldsAny() const;

  struct Saved {
    std::string path;
    std::vector<std::string> warnings;  // older checkpoints that could not be deleted
  };
  // Writes run.training.steps_done's checkpoint. Then deletes the oldest beyond `keep`, counted
  // from this one. Those of more steps stay: who was held up in here for long may write behind a
  // run that others took over.
  absl::StatusOr<Saved> Save(const Graph& graph, const ParameterStore& store,
                             DeviceContext& context, const RunState& run);

  // For a run that goes on from `steps` steps although there are newer checkpoints, damaged ones or
  // such as other ranks do not have: renames those to "<name>.given-up", so that nobody goes on
  // from them and none stays in place of a good one. Returns a line about each.
  absl::StatusOr<std::vector<std::string>> GiveUpAfter(int64_t steps);

  struct Latest {
    std::string path;
    int64_t steps = 0;  // by its name
    StagedCheckpoint checkpoint;
    std::vector<std::string> warnings;  // files that were passed over, and why
  };
  // The newest checkpoint, of those with at most `most_steps`, that is intact, read but not
  // applied. NotFound where the folder has none, saying what was looked for; DataLoss where all are
  // damaged; FailedPrecondition where the newest intact one is of another run.
  absl::StatusOr<Latest> Newest(const Graph& graph, const ParameterStore& store,
                                DeviceContext& context, std::string_view optimizer,
                                int64_t most_steps = INT64_MAX) const;

 private:
  struct File {
    int64_t steps = 0;
    std::string path;
  };
  std::string PathOf(int64_t steps) const;
  absl::StatusOr<std::vector<std::string>> Lock();
  // Newest first.
  absl::StatusOr<std::vector<File>> List() const;

  std::string folder_;
  int keep_;
  bool locked_ = false;  // also where the file system has no locks
  std::shared_ptr<FolderLock> lock_;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_CHECKPOINT_CHECKPOINT_FOLDER_H_
