// Another way to sum a tensor over all ranks than the communicator's all-reduce: encrypted on the
// wire (secrets/sums/encrypted_all_reduce.h). All ranks call it together; the tensor becomes the
// sum, with the same bits on all. Where it fails on one rank only, it breaks the group. An empty
// function is the communicator's own all-reduce.

#ifndef DTNN_COMM_SUM_OVER_RANKS_H_
#define DTNN_COMM_SUM_OVER_RANKS_H_

#include <functional>

#include "absl/status/status.h"
#include "tensor/tensor.h"

namespace dtnn {

using SumOverRanks = std::function<absl::Status(const Tensor& tensor)>;

}  // namespace dtnn

#endif  // DTNN_COMM_SUM_OVER_RANKS_H_
