// All ranks run what one of them found to be the fastest: ranks wait for the slowest in every step,
// and noise may have told some of them otherwise.

#ifndef DTNN_MODELS_TRAINING_RANKS_SHARE_DECISIONS_H_
#define DTNN_MODELS_TRAINING_RANKS_SHARE_DECISIONS_H_

#include "absl/status/status.h"
#include "comm/communicator.h"
#include "kernels/best_of/best_of.h"

namespace dtnn {

// Every rank takes over what rank 0 has decided for its machine and threads, also on a machine of
// another kind, and keeps its own for keys that rank 0 does not know.
// All ranks call it together, before their plans are made; two broadcasts, of the decisions as
// text.
absl::Status ShareDecisions(Communicator& communicator, BestOf& best_of);

}  // namespace dtnn

#endif  // DTNN_MODELS_TRAINING_RANKS_SHARE_DECISIONS_H_
