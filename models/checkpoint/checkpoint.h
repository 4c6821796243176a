// A run in a file: everything that is needed to continue as if it had never stopped.
//
// A checkpoint is a weights file (weights.h), so it can be used as one everywhere, with more in it:
//   __slot<i>__<key>        the optimizer state: by slot, one array per trainable parameter; where
//                           it has an average of the parameters, the average is in the weights and
//                           the parameters are in its slot (models/parameters/parameter_average.h)
//   __rank<r>__<key>        where the last slot is each rank's own: that of rank r, from 1 on
//   __kept__<owner>__<key>  parameters that a scheduler keeps, such as the best so far
//   __state__               uint8: a message of checkpoint.proto, with the TrainingState
// It is written completely or not at all (atomic_file.h), and loading it changes nothing unless the
// whole file is valid. A checkpoint of the other tensor format is converted, as weights are.
//
// Errors name the file and what differs. FailedPrecondition: an intact checkpoint of another run
// (model, dtype, optimizer, frozen layers); anything else: the file is damaged, or no checkpoint.

#ifndef DTNN_MODELS_CHECKPOINT_CHECKPOINT_H_
#define DTNN_MODELS_CHECKPOINT_CHECKPOINT_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/context.h"
#include "kernels/update/loss_scale_state.h"
#include "models/checkpoint/checkpoint_info.h"
#include "models/checkpoint/run_identity.h"
#include "models/checkpoint/training_state.h"
#include "models/graph/graph.h"
#include "models/parameters/parameter_store.h"
#include "models/parameters/weights.h"
#include "tensor/files/array_file.h"
#include "tensor/files/named_tensors.h"
#include "tensor/tensor.h"

namespace dtnn {

// What a run consists of besides what its ParameterStore holds.
struct RunState {
  std::string optimizer = {};  // its name
  TrainingState training = {};
  std::optional<RunIdentity> identity = {};  // none in files of older versions
  // By owner, arenas on the store's device, laid out as ParameterStore::all_values (schedule.h).
  std::map<std::string, Tensor, std::less<>> kept = {};
  // Where the last slot is each rank's own, the store's being that of rank 0.
  std::optional<ExchangeState> exchange = {};
  NamedTexts tags = {};  // further texts of the file; not restored
};

// The path must end in ".npz".
absl::Status SaveCheckpoint(std::string_view path, const Graph& graph, const ParameterStore& store,
                            DeviceContext& context, const RunState& run);

// A checkpoint's description of itself; needs no model. For programs that show what is in a file.
absl::StatusOr<CheckpointInfo> ReadCheckpointInfo(ArrayFileReader& file);
// Whether the file is a checkpoint, not only weights.
bool IsCheckpoint(const ArrayFileReader& file);

// Which of how many ranks reads.
struct ReadingRank {
  int rank = 0, ranks = 1;
};

// A checkpoint that was read and checked, to be applied when all other checks have passed too.
class StagedCheckpoint {
 public:
  // The store must have room for optimizer state (AllocateForTraining); `optimizer` is its name.
  // Where the last slot is each rank's own, rank r of R gets the sum of those of the ranks r, r+R,
  // ... that wrote it: its own, on as many ranks, and on any number nothing is lost.
  static absl::StatusOr<StagedCheckpoint> Open(std::string_view path, const Graph& graph,
                                               const ParameterStore& store, DeviceContext& context,
                                               std::string_view optimizer,
                                               const ReadingRank& reader = {});
  static absl::StatusOr<StagedCheckpoint> Read(ArrayFileReader& file, const Graph& graph,
                                               const ParameterStore& store, DeviceContext& context,
                                               std::string_view optimizer,
                                               const ReadingRank& reader = {});

  // Its exchange has no leftovers: they are in the slot that Apply fills. Its `kept` are on the
  // store's device.
  const RunState& run() const { return run_; }
  const std::vector<std::string>& warnings() const { return weights_.loaded().warnings; }
  // Copies parameters, optimizer state and, where the store has one, the loss scale into the store.
  // A file of a run without a scale leaves it as it is.
  absl::Status Apply(ParameterStore& store, DeviceContext& context) const;

 private:
  RunState run_;
  StagedWeights weights_;
  std::vector<Tensor> slots_;  // on the host
  std::optional<LossScaleState> loss_scale_;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_CHECKPOINT_CHECKPOINT_H_
