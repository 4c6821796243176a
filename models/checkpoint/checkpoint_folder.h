// The checkpoints of one run in one folder: checkpoint-<steps>.npz, of which the newest few are
// kept.
//
// From the first save on, the folder always has a checkpoint that can be loaded, even if the disk
// is full or the process is killed at any moment: older ones are deleted only when a newer one is
// complete and on the disk. If a file is damaged, the previous one is used. A lock makes sure that
// only one process at a time writes into a folder. Errors name the folder or file.

#ifndef DTNN_MODELS_CHECKPOINT_CHECKPOINT_FOLDER_H_
#define DTNN_MODELS_CHECKPOINT_CHECKPOINT_FOLDER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/device/context.h"
#include "models/checkpoint/checkpoint.h"
#include "models/graph/graph.h"
#include "models/parameters/parameter_store.h"
#include "tensor/files/access/folder_lock.h"

namespace dtnn {

// Copies share the lock.
class CheckpointFolder {
 public:
  // `keep`: how many checkpoints are kept, at least 1.
  explicit CheckpointFolder(std::string_view folder, int keep = 2);

  // For the process that writes: creates the folder if necessary, checks that files can be written
  // there, locks it until this object and all copies are destroyed, and deletes the incomplete
  // files of a killed run. FailedPrecondition if another process uses the folder or, for a new run,
  // if it contains another run's checkpoints. Returns a warning if the file system has no locks.
  // `goes_on`: for a process that takes over from another one, which may hold the lock still
  // although it is frozen: that is a warning, and its incomplete files stay, for it may wake; those
  // of processes that are gone do not.
  absl::StatusOr<std::vector<std::string>> Prepare(bool resume, bool goes_on = false);

  // Whether there is a checkpoint that can be opened; needs no network, for the last message of a
  // process that fails.
  bool HoldsAny() const;

  // The one of the most steps, by its name, which nobody has looked into; nothing: there is none.
  absl::StatusOr<std::optional<std::string>> NewestPath() const;

  struct Saved {
    std::string path;
    std::vector<std::string> warnings;  // older checkpoints that could not be deleted
  };
  // Writes run.training.steps_done's checkpoint. Then deletes the oldest beyond `keep`, counted
  // from this one. Those of more steps are kept: if this process was delayed for long, another one
  // may have continued the run meanwhile.
  absl::StatusOr<Saved> Save(const Graph& graph, const ParameterStore& store,
                             DeviceContext& context, const RunState& run);

  // For a run that resumes from `steps` steps although there are newer checkpoints, which are
  // damaged or which other ranks do not have: renames those to "<name>.given-up", so that no run
  // resumes from them and none counts as one of the newest. Returns a line about each.
  absl::StatusOr<std::vector<std::string>> SetAsideAfter(int64_t steps);

  struct Latest {
    std::string path;
    int64_t steps = 0;  // by its name
    StagedCheckpoint checkpoint;
    std::vector<std::string> warnings;  // files that were skipped, and why
  };
  // The newest checkpoint, of those with at most `most_steps`, that is intact, read but not
  // applied. NotFound where the folder has none, naming what was looked for; DataLoss if all are
  // damaged; FailedPrecondition if the newest intact one is of another run.
  absl::StatusOr<Latest> Newest(const Graph& graph, const ParameterStore& store,
                                DeviceContext& context, std::string_view optimizer,
                                int64_t most_steps = INT64_MAX,
                                const ReadingRank& reader = {}) const;

 private:
  struct File {
    int64_t steps = 0;
    std::string path;
  };
  std::string PathOf(int64_t steps) const;
  absl::StatusOr<std::vector<std::string>> Lock(bool goes_on);
  // Newest first.
  absl::StatusOr<std::vector<File>> List() const;

  std::string folder_;
  int keep_;
  bool locked_ = false;  // also where the file system has no locks
  std::shared_ptr<FolderLock> lock_;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_CHECKPOINT_CHECKPOINT_FOLDER_H_
