// Batch normalisation with running statistics as a scale and a shift per channel, for the epilogue
// of whatever comes before it (kernels/operands/epilogue.h):
//
//   scale * a + shift = gamma * (a + bias - mean) / sqrt(variance + epsilon) + beta
//
// Computed in double and rounded once. As in BatchNorm::Infer, a variance below 0 counts as 0.

#ifndef DTNN_KERNELS_BATCH_NORM_FOLD_H_
#define DTNN_KERNELS_BATCH_NORM_FOLD_H_

#include "kernels/batch_norm/batch_norm.h"
#include "tensor/tensor.h"

namespace dtnn {

// Tensors of the host, (channels,), of one floating dtype; no bias: an empty one.
void FoldBatchNorm(const BatchNormParameters& parameters, const RunningStatistics& running,
                   double epsilon, const Tensor& bias, const Tensor& scale, const Tensor& shift);

}  // namespace dtnn

#endif  // DTNN_KERNELS_BATCH_NORM_FOLD_H_
