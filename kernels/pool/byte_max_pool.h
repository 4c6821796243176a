// Maximum pooling of bytes, for inference in 8 bits: bytes of one scale are in the order of the
// numbers that they stand for. Padding never wins.

#ifndef DTNN_KERNELS_POOL_BYTE_MAX_POOL_H_
#define DTNN_KERNELS_POOL_BYTE_MAX_POOL_H_

#include "kernels/pool/pool.h"
#include "tensor/tensor.h"

namespace dtnn {

// x and y are NHWC images of uint8, as the valid `spec` says but for its batch and type; both may
// be pitched. Cost: reads x and writes y, about once.
void MaxPoolBytes(const PoolSpec& spec, const Tensor& x, const Tensor& y);

}  // namespace dtnn

#endif  // DTNN_KERNELS_POOL_BYTE_MAX_POOL_H_
