// Which rank saves a checkpoint after the group has broken.

#ifndef DTNN_COMM_RANKS_JOB_SAVE_AFTER_LOSS_H_
#define DTNN_COMM_RANKS_JOB_SAVE_AFTER_LOSS_H_

#include "absl/functional/function_ref.h"
#include "comm/communicator.h"

namespace dtnn {

// Called by every rank that is left, when the group is broken. The lowest of them calls `save`,
// which returns whether the checkpoint is on the disk. The others wait until it has left; if it is
// lost without an answer, the next one saves. All get to know whether there is a checkpoint to
// resume from.
bool SaveAfterLoss(Communicator& communicator, absl::FunctionRef<bool()> save);

}  // namespace dtnn

#endif  // DTNN_COMM_RANKS_JOB_SAVE_AFTER_LOSS_H_
