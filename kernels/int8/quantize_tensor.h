// Whole tensors to bytes and back (quantization.h), on all threads. Both have one shape; that of
// bytes may be pitched, that of float32 is dense.

#ifndef DTNN_KERNELS_INT8_QUANTIZE_TENSOR_H_
#define DTNN_KERNELS_INT8_QUANTIZE_TENSOR_H_

#include "kernels/int8/quantization.h"
#include "tensor/tensor.h"

namespace dtnn {

// False: a value is NaN, and its byte undefined.
bool QuantizeTensor(const Tensor& from, const Tensor& to, const Quantization& q);
void DequantizeTensor(const Tensor& from, const Tensor& to, const Quantization& q);

}  // namespace dtnn

#endif  // DTNN_KERNELS_INT8_QUANTIZE_TENSOR_H_
