// Who saves when the ranks broke apart.

#ifndef DTNN_COMM_JOB_SAVE_AFTER_LOSS_H_
#define DTNN_COMM_JOB_SAVE_AFTER_LOSS_H_

#include "absl/functional/function_ref.h"
#include "comm/communicator.h"

namespace dtnn {

// Called by every rank that is left, when the group is broken. The lowest of them calls `save`,
// which answers whether what it saved is on the disk; the others wait until it has left, and where
// it is gone without a word, the next one saves. All learn whether there is something to go on
// from.
bool SaveAfterLoss(Communicator& communicator, absl::FunctionRef<bool()> save);

}  // namespace dtnn

#endif  // DTNN_COMM_JOB_SAVE_AFTER_LOSS_H_
