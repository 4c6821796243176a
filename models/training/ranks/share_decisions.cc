#include "models/training/ranks/share_decisions.h"

#include <string>

#include "comm/broadcast_text.h"
#include "tensor/status_macros.h"

namespace dtnn {

absl::Status ShareDecisions(Communicator& communicator, BestOf& best_of) {
  DTNN_ASSIGN_OR_RETURN(
      const std::string text,
      BroadcastText(communicator, best_of.decisions().Here().ToString(), /*root=*/0));
  if (communicator.rank() == 0) return absl::OkStatus();
  DTNN_ASSIGN_OR_RETURN(const Decisions decisions, Decisions::Parse(text, "decisions of rank 0"));
  best_of.Adopt(decisions);
  return absl::OkStatus();
}

}  // namespace dtnn
