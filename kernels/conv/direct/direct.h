// Convolution straight from the images, in blocks of outputs that stay in registers.

#ifndef DTNN_KERNELS_CONV_DIRECT_DIRECT_H_
#define DTNN_KERNELS_CONV_DIRECT_DIRECT_H_

#include "kernels/conv/kernel.h"

namespace dtnn::conv {

extern const Variant kDirect;

}  // namespace dtnn::conv

#endif  // DTNN_KERNELS_CONV_DIRECT_DIRECT_H_
