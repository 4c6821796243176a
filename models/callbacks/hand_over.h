// The state of a run in memory, from ranks that have it to ranks that do not: so a run continues
// with other ranks than before, without files.
//
// Ranks that lose one of them may be at different places: some have ended a step, others have not.
// As parameters change only when all gradients of a step have been exchanged (whole_steps), they
// differ by one update at most, and each is what a run of that many steps has. All take the state
// of the one that is ahead. Of ranks with equally many updates, some may have ended an epoch and
// others not: all then end it again, so that what an epoch's end does is done everywhere.
//
// Running statistics, which each rank tracks on its own samples, are averaged over the ranks that
// are there.

#ifndef DTNN_MODELS_CALLBACKS_HAND_OVER_H_
#define DTNN_MODELS_CALLBACKS_HAND_OVER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "kernels/update/loss_scale_state.h"
#include "models/callbacks/checkpointer.h"
#include "models/callbacks/epoch_ends.h"
#include "models/checkpoint/training_state.h"
#include "tensor/tensor.h"

namespace dtnn {

// One rank's last whole step, on the host.
struct KeptRun {
  TrainingState training = {};                           // with the schedulers'
  std::map<std::string, Tensor, std::less<>> kept = {};  // parameters that they keep
  Tensor values = {}, statistics = {};                   // the latter are part of the former
  std::vector<Tensor> slots = {};
  std::optional<LossScaleState> loss_scale = {};  // of runs in float16
  std::string history = {};                       // of the epochs that are done (history.h)

  // Samples of the epoch in progress that are left, over all ranks.
  int64_t samples_left() const;
};

// What this rank can hand over, without the others. FailedPrecondition where an update has failed
// halfway, or training has diverged.
absl::StatusOr<KeptRun> KeepRun(const RunParts& run, const EpochEnds& ends,
                                const std::string& history);

// All ranks call it together, each with what it holds, or nothing; one at least holds something.
// The trainer is prepared for training. All ranks continue with the same state, as a
// digest of it shows; returns the history. `updates`: of those that hold something.
struct HandedOver {
  std::string history = {};
  int source = 0;                                 // the rank whose state it was
  int64_t steps_behind = 0;                       // the most that another holder was behind
  std::optional<LossScaleState> loss_scale = {};  // the source's: where the store has one, its own
};
absl::StatusOr<HandedOver> HandOver(Communicator& communicator, const std::optional<KeptRun>& mine,
                                    const RunParts& run);

}  // namespace dtnn

#endif  // DTNN_MODELS_CALLBACKS_HAND_OVER_H_
