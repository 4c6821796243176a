// The GPU's implementation of Activation: one thread per element.

#ifndef DTNN_KERNELS_ACTIVATION_ACTIVATION_GPU_H_
#define DTNN_KERNELS_ACTIVATION_ACTIVATION_GPU_H_

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/activation/activation.h"

namespace dtnn {

absl::StatusOr<std::unique_ptr<Activation>> CreateActivationGpu(DeviceContext& context,
                                                                const ActivationSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_ACTIVATION_ACTIVATION_GPU_H_
