// What the ranks of a run decide alike.

#ifndef DTNN_COMM_JOB_RANKS_H_
#define DTNN_COMM_JOB_RANKS_H_

#include "absl/status/status.h"
#include "comm/communicator.h"

namespace dtnn {

// Every rank calls it with how it fares. Where all are well: OK. Else the lowest rank that is not
// gets its own status back, to tell the user, and the others Aborted, which names that rank, with
// the same exit code. `communicator` may be null.
absl::Status Agree(Communicator* communicator, const absl::Status& mine);

// Whether an error says that ranks were lost, and not that one gave up for a reason of its own.
bool IsLossOfPeer(const absl::Status& status);

// Of a group that broke: who speaks for all that are left. size() where nobody is.
int LowestRankLeft(const Communicator& communicator);

}  // namespace dtnn

#endif  // DTNN_COMM_JOB_RANKS_H_
