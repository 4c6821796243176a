#include "comm/ranks/job/ranks.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "comm/gather_values.h"
#include "comm/ranks/job/exit_code.h"
#include "tensor/text/str_cat.h"

namespace dtnn {

absl::Status Agree(Communicator* communicator, const absl::Status& mine) {
  if (communicator == nullptr) return mine;
  const absl::StatusOr<std::vector<int32_t>> codes =
      GatherValues(*communicator, int32_t{ExitCodeOf(mine)});
  if (!codes.ok()) return mine.ok() ? codes.status() : mine;
  for (int rank = 0; rank < communicator->size(); ++rank) {
    const int theirs = (*codes)[size_t(rank)];
    if (theirs == kExitDone) continue;
    if (rank == communicator->rank()) return mine;
    return WithExitCode(absl::AbortedError(StrCat("rank ", rank, " cannot continue")), theirs);
  }
  return absl::OkStatus();
}

bool IsLossOfPeer(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

int LowestRankLeft(const Communicator& communicator) {
  const std::vector<int> lost = communicator.lost();
  int rank = 0;
  while (std::ranges::count(lost, rank) > 0) ++rank;
  return rank;
}

}  // namespace dtnn
