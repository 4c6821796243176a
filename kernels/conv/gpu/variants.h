// What the variants of Conv2d on GPUs share: their declarations.

#ifndef DTNN_KERNELS_CONV_GPU_VARIANTS_H_
#define DTNN_KERNELS_CONV_GPU_VARIANTS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/conv/conv2d.h"

namespace dtnn::conv {

#define DTNN_CONV_GPU_VARIANT(name, create)                                                      \
  absl::StatusOr<std::unique_ptr<Conv2d>> create(DeviceContext& context, const Conv2dSpec& spec, \
                                                 const Conv2dUse& use);
#include "kernels/conv/gpu/variants.inc"
#undef DTNN_CONV_GPU_VARIANT

}  // namespace dtnn::conv

#endif  // DTNN_KERNELS_CONV_GPU_VARIANTS_H_
