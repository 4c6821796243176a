// Element-wise sum, minimum or maximum of several ranks' tensors in the order rank 0, rank 1, ...,
// written to several places in one pass: each input is read once, each output written once.

#ifndef DTNN_COMM_REDUCE_IN_ORDER_H_
#define DTNN_COMM_REDUCE_IN_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "comm/communicator.h"
#include "tensor/dtype.h"

namespace dtnn {

// At least one input; an output may be an input. Integer sums wrap around.
void ReduceInOrder(ReduceOp op, DType dtype, std::span<const std::byte* const> inputs,
                   std::span<std::byte* const> outputs, int64_t elements);

}  // namespace dtnn

#endif  // DTNN_COMM_REDUCE_IN_ORDER_H_
