// Convolutions and fully connected layers in 8 bits, with what is fused into them.

#ifndef DTNN_LAYERS_INT8_PRODUCT_OP_H_
#define DTNN_LAYERS_INT8_PRODUCT_OP_H_

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/conv/conv2d_spec.h"
#include "layers/base/layer.h"
#include "layers/int8/bind_int8.h"

namespace dtnn {

absl::StatusOr<std::unique_ptr<LayerOp>> CreateInt8ProductOp(const Conv2dSpec& spec,
                                                             const BindContext& context,
                                                             const Int8Values& values);

}  // namespace dtnn

#endif  // DTNN_LAYERS_INT8_PRODUCT_OP_H_
