// Depthwise convolutions in 8 bits: a filter per channel, in vectors of channels.

#ifndef DTNN_KERNELS_INT8_CONV2D_DEPTHWISE_H_
#define DTNN_KERNELS_INT8_CONV2D_DEPTHWISE_H_

#include <memory>

#include "kernels/int8/int8_conv2d.h"

namespace dtnn::int8 {

bool IsDepthwise(const Conv2dSpec& spec);
// For such a spec that Int8Conv2d::Create has checked.
std::unique_ptr<Int8Conv2d> CreateConv2dDepthwise(const Int8Conv2dSpec& spec);

}  // namespace dtnn::int8

#endif  // DTNN_KERNELS_INT8_CONV2D_DEPTHWISE_H_
