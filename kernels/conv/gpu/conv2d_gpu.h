// Conv2d on GPUs: the first variant of variants.inc that takes the device and the spec, or the one
// that is named. A variant computes all three directions.

#ifndef DTNN_KERNELS_CONV_GPU_CONV2D_GPU_H_
#define DTNN_KERNELS_CONV_GPU_CONV2D_GPU_H_

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/conv/conv2d.h"

namespace dtnn::conv {

// The spec and the use have been checked. NotFound for an unknown name;
// InvalidArgument for different names, and with the reason for a variant that does not take the
// device or the spec.
absl::StatusOr<std::unique_ptr<Conv2d>> CreateConv2dGpu(DeviceContext& context,
                                                        const Conv2dSpec& spec,
                                                        const Conv2dVariants& variants,
                                                        const Conv2dUse& use);

}  // namespace dtnn::conv

#endif  // DTNN_KERNELS_CONV_GPU_CONV2D_GPU_H_
