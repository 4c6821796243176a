// Layers whose outputs are elements of their inputs, of bytes; of NHWC images.

#ifndef DTNN_LAYERS_INT8_SELECT_OPS_H_
#define DTNN_LAYERS_INT8_SELECT_OPS_H_

#include <memory>

#include "kernels/pool/pool.h"
#include "layers/base/layer.h"

namespace dtnn {

std::unique_ptr<LayerOp> CreateInt8MaxPoolOp(const PoolSpec& spec);
std::unique_ptr<LayerOp> CreateInt8ConcatenationOp();

}  // namespace dtnn

#endif  // DTNN_LAYERS_INT8_SELECT_OPS_H_
