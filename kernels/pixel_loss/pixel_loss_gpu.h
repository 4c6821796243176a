// The GPU's implementation of PixelLoss: a warp per image counts its labelled pixels, a thread per
// pixel computes its loss and gradient, and a warp per image sums the losses.

#ifndef DTNN_KERNELS_PIXEL_LOSS_PIXEL_LOSS_GPU_H_
#define DTNN_KERNELS_PIXEL_LOSS_PIXEL_LOSS_GPU_H_

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/pixel_loss/pixel_loss.h"

namespace dtnn {

absl::StatusOr<std::unique_ptr<PixelLoss>> CreatePixelLossGpu(DeviceContext& context,
                                                              const PixelLossSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_PIXEL_LOSS_PIXEL_LOSS_GPU_H_
