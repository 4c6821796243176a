// The sum of the squares of an arena's elements, for the norm of a gradient: read once, added in
// double precision (the squares of float32 values neither overflow nor lose digits), block by
// block, so that the result does not depend on the number of threads.

#ifndef DTNN_KERNELS_SUM_OF_SQUARES_SUM_OF_SQUARES_H_
#define DTNN_KERNELS_SUM_OF_SQUARES_SUM_OF_SQUARES_H_

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/device/context.h"
#include "tensor/tensor.h"

namespace dtnn {

class SumOfSquares {
 public:
  virtual ~SumOfSquares() = default;
  // x: dense, of any shape. On a GPU the call waits for the result.
  virtual absl::StatusOr<double> Run(const Tensor& x) = 0;
  // The same into a tensor of the device with one float64; waits for nothing.
  virtual absl::Status Queue(const Tensor& x, const Tensor& sum) = 0;
};

absl::StatusOr<std::unique_ptr<SumOfSquares>> CreateSumOfSquares(DeviceContext& context,
                                                                 DType dtype);

}  // namespace dtnn

#endif  // DTNN_KERNELS_SUM_OF_SQUARES_SUM_OF_SQUARES_H_
