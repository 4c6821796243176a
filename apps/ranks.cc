#include "apps/ranks.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
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

absl::Status AgreeOn(Communicator* communicator, int64_t number, std::string_view of_what) {
  if (communicator == nullptr) return absl::OkStatus();
  DTNN_ASSIGN_OR_RETURN(const Tensor mine, Tensor::Zeros(DType::kInt64, Shape{1}));
  DTNN_ASSIGN_OR_RETURN(const Tensor all,
                        Tensor::Zeros(DType::kInt64, Shape{communicator->size()}));
  mine.data<int64_t>()[0] = number;
  DTNN_RETURN_IF_ERROR(communicator->AllGather(mine, all));
  const std::span<const int64_t> numbers(all.data<int64_t>(), size_t(communicator->size()));
  const auto other = std::ranges::find_if(numbers, [&](int64_t n) { return n != numbers[0]; });
  if (other == numbers.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("rank 0 has ", numbers[0], " ",
                                                 std::string(of_what), ", but rank ",
                                                 other - numbers.begin(), " has ", *other));
}

int LowestRankLeft(const Communicator& communicator) {
  const std::vector<int> lost = communicator.lost();
  int rank = 0;
  while (std::ranges::count(lost, rank) > 0) ++rank;
  return rank;
}

}  // namespace dtnn
