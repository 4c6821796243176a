// The GPU's implementation of SumOfSquares: a warp per block, whose lanes take every 32nd element;
// another warp adds the blocks' sums.

#ifndef DTNN_KERNELS_SUM_OF_SQUARES_SUM_OF_SQUARES_GPU_H_
#define DTNN_KERNELS_SUM_OF_SQUARES_SUM_OF_SQUARES_GPU_H_

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/sum_of_squares/sum_of_squares.h"

namespace dtnn {

absl::StatusOr<std::unique_ptr<SumOfSquares>> CreateSumOfSquaresGpu(DeviceContext& context,
                                                                    DType dtype);

}  // namespace dtnn

#endif  // DTNN_KERNELS_SUM_OF_SQUARES_SUM_OF_SQUARES_GPU_H_
