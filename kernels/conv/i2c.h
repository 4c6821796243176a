// Convolution variant i2c: im2col and a matrix product, for any spec with groups == 1 on the CPU.
// Forward and backward data are gather_gemm.h, backward filter is filter_gemm.h; this class holds
// the packed filters and brings NCHW activations, a few images at a time, into NHWC order and back.

#ifndef DTNN_KERNELS_CONV_I2C_H_
#define DTNN_KERNELS_CONV_I2C_H_

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/conv/conv2d.h"

namespace dtnn {

absl::StatusOr<std::unique_ptr<Conv2d>> CreateI2cConv2d(DeviceContext& context,
                                                        const Conv2dSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_CONV_I2C_H_
