// Which algorithm computes the convolution that a layer is bound to.

#ifndef DTNN_LAYERS_BASE_CONV_VARIANTS_H_
#define DTNN_LAYERS_BASE_CONV_VARIANTS_H_

#include "absl/status/statusor.h"
#include "kernels/conv/conv2d.h"
#include "layers/base/layer.h"

namespace dtnn {

// The one that the context names; of "auto" the fastest, by timing where the context has a BestOf,
// else by rule.
absl::StatusOr<Conv2dVariants> ChooseConvVariants(const BindContext& context,
                                                  const Conv2dSpec& spec, const Conv2dUse& use);

}  // namespace dtnn

#endif  // DTNN_LAYERS_BASE_CONV_VARIANTS_H_
