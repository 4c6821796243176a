// All-gathers a few numbers of every rank: what ranks compare, agree on or report. Blocks;
// allocates two small tensors per call.

#ifndef DTNN_COMM_GATHER_VALUES_H_
#define DTNN_COMM_GATHER_VALUES_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "tensor/dtype.h"
#include "tensor/status_macros.h"
#include "tensor/tensor.h"

namespace dtnn {

// Rank 0's numbers, then rank 1's, ...: size() times as many as `mine`, of which all ranks, who
// call it together, have equally many, at least one. Errors are the communicator's.
template <typename T>
absl::StatusOr<std::vector<T>> GatherValues(Communicator& communicator, std::span<const T> mine) {
  const int64_t count = int64_t(mine.size());
  DTNN_ASSIGN_OR_RETURN(const Tensor part, Tensor::Zeros(DTypeOf<T>(), Shape{count}));
  DTNN_ASSIGN_OR_RETURN(const Tensor all,
                        Tensor::Zeros(DTypeOf<T>(), Shape{communicator.size() * count}));
  std::ranges::copy(mine, part.data<T>());
  DTNN_RETURN_IF_ERROR(communicator.AllGather(part, all));
  return std::vector<T>(all.data<T>(), all.data<T>() + all.num_elements());
}

// One number of each.
template <typename T>
requires std::is_arithmetic_v<T> absl::StatusOr<std::vector<T>> GatherValues(
    Communicator& communicator, T mine) {
  return GatherValues(communicator, std::span<const T>(&mine, 1));
}

}  // namespace dtnn

#endif  // DTNN_COMM_GATHER_VALUES_H_
