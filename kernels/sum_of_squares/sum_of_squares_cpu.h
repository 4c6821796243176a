// The CPU implementation of SumOfSquares, for sum_of_squares.cc.

#ifndef DTNN_KERNELS_SUM_OF_SQUARES_SUM_OF_SQUARES_CPU_H_
#define DTNN_KERNELS_SUM_OF_SQUARES_SUM_OF_SQUARES_CPU_H_

#include <memory>

#include "kernels/sum_of_squares/sum_of_squares.h"

namespace dtnn {

std::unique_ptr<SumOfSquares> CreateSumOfSquaresCpu(DType dtype);

}  // namespace dtnn

#endif  // DTNN_KERNELS_SUM_OF_SQUARES_SUM_OF_SQUARES_CPU_H_
