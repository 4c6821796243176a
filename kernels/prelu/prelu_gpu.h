// The GPU's implementation of PRelu: vectors of elements, and the sums of Bias.

#ifndef DTNN_KERNELS_PRELU_PRELU_GPU_H_
#define DTNN_KERNELS_PRELU_PRELU_GPU_H_

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/bias/bias.h"
#include "kernels/prelu/prelu.h"

namespace dtnn {

// `sums` adds up the gradients of the slopes.
std::unique_ptr<PRelu> CreatePReluGpu(DeviceContext& context, const PReluSpec& spec,
                                      std::unique_ptr<Bias> sums);

}  // namespace dtnn

#endif  // DTNN_KERNELS_PRELU_PRELU_GPU_H_
