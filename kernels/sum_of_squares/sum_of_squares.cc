#include "kernels/sum_of_squares/sum_of_squares.h"

#include "kernels/elementwise/operands.h"
#include "kernels/sum_of_squares/sum_of_squares_cpu.h"
#include "tensor/status_macros.h"
#ifdef DTNN_WITH_CUDA
#include "kernels/sum_of_squares/sum_of_squares_cuda.h"
#endif

namespace dtnn {

absl::StatusOr<std::unique_ptr<SumOfSquares>> CreateSumOfSquares(DeviceContext& context,
                                                                 DType dtype) {
  DTNN_RETURN_IF_ERROR(CheckFloating("sum of squares", dtype));
  switch (context.device().type) {
    case DeviceType::kCpu:
      return CreateSumOfSquaresCpu(dtype);
#ifdef DTNN_WITH_CUDA
    case DeviceType::kCuda:
      return CreateSumOfSquaresCuda(context, dtype);
#endif
    default:
      return NoKernelFor("sum of squares", context.device());
  }
}

}  // namespace dtnn
