// The GPU's implementations of Softmax and SoftmaxCrossEntropy: one warp per row, whose lanes take
// every 32nd column.

#ifndef DTNN_KERNELS_SOFTMAX_SOFTMAX_GPU_H_
#define DTNN_KERNELS_SOFTMAX_SOFTMAX_GPU_H_

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/softmax/softmax.h"

namespace dtnn {

absl::StatusOr<std::unique_ptr<Softmax>> CreateSoftmaxGpu(DeviceContext& context,
                                                          const SoftmaxSpec& spec);
absl::StatusOr<std::unique_ptr<SoftmaxCrossEntropy>> CreateSoftmaxCrossEntropyGpu(
    DeviceContext& context, const SoftmaxSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_SOFTMAX_SOFTMAX_GPU_H_
