// The op of two batch normalisations in training, and of the sum of what they write: that of the
// later one, which takes the input, the parameters and the gradients of the other too
// (BindContext::fuse_addend).

#ifndef DTNN_LAYERS_NORMALIZATION_NORMALIZED_SUM_H_
#define DTNN_LAYERS_NORMALIZATION_NORMALIZED_SUM_H_

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/batch_norm/norm_pair.h"
#include "layers/base/layer.h"

namespace dtnn {

// The specs of the other one and of the later one, in this order.
absl::StatusOr<std::unique_ptr<LayerOp>> BindNormalizedSum(DeviceContext& context,
                                                           const NormPairSpec& spec);

}  // namespace dtnn

#endif  // DTNN_LAYERS_NORMALIZATION_NORMALIZED_SUM_H_
