#include "apps/ranks.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "apps/exit_code.h"
#include "tensor/status_macros.h"
#include "tensor/tensor.h"

namespace dtnn {

absl::Status Agree(Communicator* communicator, const absl::Status& mine) {
  if (communicator == nullptr) return mine;
  DTNN_ASSIGN_OR_RETURN(Tensor code, Tensor::Zeros(DType::kInt32, Shape{1}));
  DTNN_ASSIGN_OR_RETURN(Tensor codes, Tensor::Zeros(DType::kInt32, Shape{communicator->size()}));
  code.data<int32_t>()[0] = ExitCodeOf(mine);
  const absl::Status exchanged = communicator->AllGather(code, codes);
  if (!exchanged.ok()) return mine.ok() ? exchanged : mine;
  for (int rank = 0; rank < communicator->size(); ++rank) {
    const int theirs = codes.data<int32_t>()[rank];
    if (theirs == kExitDone) continue;
    if (rank == communicator->rank()) return mine;
    return WithExitCode(absl::AbortedError(absl::StrCat("rank ", rank, " cannot go on")), theirs);
  }
  return absl::OkStatus();
}

int LowestRankLeft(const Communicator& communicator) {
  const std::vector<int> lost = communicator.lost();
  int rank = 0;
  while (std::ranges::count(lost, rank) > 0) ++rank;
  return rank;
}

}  // namespace dtnn
