// The GPU's implementation of LossScale: kernels of one thread.

#ifndef DTNN_KERNELS_UPDATE_LOSS_SCALE_GPU_H_
#define DTNN_KERNELS_UPDATE_LOSS_SCALE_GPU_H_

#include <memory>

#include "kernels/update/loss_scale.h"

namespace dtnn {

// Without memory yet.
std::unique_ptr<LossScale> CreateLossScaleGpu(DeviceContext& context);

}  // namespace dtnn

#endif  // DTNN_KERNELS_UPDATE_LOSS_SCALE_GPU_H_
