// What the ranks of a run decide alike.

#ifndef DTNN_COMM_RANKS_JOB_RANKS_H_
#define DTNN_COMM_RANKS_JOB_RANKS_H_

#include "absl/status/status.h"
#include "comm/communicator.h"

namespace dtnn {

// Every rank calls it with its own status. Returns OK if all are OK. Otherwise the lowest rank with
// an error gets its own status back, to report it, and the others get Aborted, which names that
// rank, with the same exit code. `communicator` may be null.
absl::Status Agree(Communicator* communicator, const absl::Status& mine);

// Whether an error says that ranks were lost, and not that one failed for another reason.
bool IsLossOfPeer(const absl::Status& status);

// In a broken group: the rank that reports for all that are left. size() if none is left.
int LowestRankLeft(const Communicator& communicator);

}  // namespace dtnn

#endif  // DTNN_COMM_RANKS_JOB_RANKS_H_
