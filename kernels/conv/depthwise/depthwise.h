// Depthwise convolution (Sifre, 2014; Howard et al., "MobileNets", 2017): one filter per channel.
// A channel's sum has only as many terms as the kernel has taps, so that a call should cost what
// moving the images costs.

#ifndef DTNN_KERNELS_CONV_DEPTHWISE_DEPTHWISE_H_
#define DTNN_KERNELS_CONV_DEPTHWISE_DEPTHWISE_H_

#include "kernels/conv/kernel.h"

namespace dtnn::conv {

extern const Variant kDepthwise;

}  // namespace dtnn::conv

#endif  // DTNN_KERNELS_CONV_DEPTHWISE_DEPTHWISE_H_
