// A layer that computes in float32 between layers of bytes: converts before and after it.

#ifndef DTNN_LAYERS_INT8_BORDER_OP_H_
#define DTNN_LAYERS_INT8_BORDER_OP_H_

#include <memory>

#include "absl/status/statusor.h"
#include "layers/base/layer.h"
#include "layers/int8/bind_int8.h"

namespace dtnn {

// `op`: bound to `context`.
absl::StatusOr<std::unique_ptr<LayerOp>> CreateInt8BorderOp(std::unique_ptr<LayerOp> op,
                                                            const BindContext& context,
                                                            const Int8Values& values);

}  // namespace dtnn

#endif  // DTNN_LAYERS_INT8_BORDER_OP_H_
