// Convolutions in 8 bits as products of pixels and panels of filters, of any geometry.

#ifndef DTNN_KERNELS_INT8_CONV2D_PRODUCT_H_
#define DTNN_KERNELS_INT8_CONV2D_PRODUCT_H_

#include <memory>

#include "kernels/int8/int8_conv2d.h"

namespace dtnn::int8 {

// For a spec that Int8Conv2d::Create has checked.
std::unique_ptr<Int8Conv2d> CreateConv2dProduct(const Int8Conv2dSpec& spec, Int8Level level);

}  // namespace dtnn::int8

#endif  // DTNN_KERNELS_INT8_CONV2D_PRODUCT_H_
