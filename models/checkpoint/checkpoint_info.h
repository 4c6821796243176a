// A checkpoint's description of itself: to which run it belongs, and the progress of that run. As
// bytes it is a message of checkpoint.proto, equal for equal contents.

#ifndef DTNN_MODELS_CHECKPOINT_CHECKPOINT_INFO_H_
#define DTNN_MODELS_CHECKPOINT_CHECKPOINT_INFO_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/update/loss_scale_state.h"
#include "models/checkpoint/run_identity.h"
#include "models/checkpoint/training_state.h"

namespace dtnn {

// More than any optimizer has.
inline constexpr int kMaxCheckpointSlots = 64;
// More than any run has.
inline constexpr int kMaxCheckpointRanks = 1 << 16;

struct CheckpointInfo {
  std::string model = {}, format = {}, dtype = {};
  std::string optimizer = {};
  int slots = 0;                         // arrays that it keeps per parameter
  std::optional<int> average_slot = {};  // of them the one beside an average of the parameters
  TrainingState training = {};
  std::vector<std::string> kept = {};        // schedulers that keep parameters
  std::optional<RunIdentity> identity = {};  // none in files of older versions
  // Where the last slot is each rank's own: of how many ranks it is in the file; else 0.
  int ranks_with_slot = 0;
  std::vector<double> exchange = {};              // ExchangeState::values
  std::vector<int> frozen = {};                   // ids of layers that were frozen in training
  std::optional<LossScaleState> loss_scale = {};  // of runs in float16

  friend bool operator==(const CheckpointInfo&, const CheckpointInfo&) = default;
};

absl::StatusOr<std::string> EncodeCheckpointInfo(const CheckpointInfo& info);
// Errors begin with `name`. InvalidArgument for bytes that are not such a message, for a newer
// version, and for impossible counts.
absl::StatusOr<CheckpointInfo> DecodeCheckpointInfo(std::string_view bytes, std::string_view name);

}  // namespace dtnn

#endif  // DTNN_MODELS_CHECKPOINT_CHECKPOINT_INFO_H_
