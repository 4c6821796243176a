#include "kernels/sum_of_squares/sum_of_squares_cuda.h"

namespace dtnn {

absl::StatusOr<std::unique_ptr<SumOfSquares>> CreateSumOfSquaresCuda(DeviceContext& context,
                                                                     DType dtype) {
  return std::make_unique<SumOfSquaresCuda<GpuRunner>>(
      GpuRunner(static_cast<CudaContext&>(context)), context, dtype);
}

}  // namespace dtnn
