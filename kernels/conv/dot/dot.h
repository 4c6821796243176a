// Convolutions of bfloat16 by dot products of pairs of channels (vdpbf16ps): all directions of any
// spec, on CPUs with AVX512-BF16. The kernels are those of tiles (kernels/conv/amx), with blocks of
// sums that are computed in vectors (kernels/amx/dots.h). Numbers that are denormal count as zero.

#ifndef DTNN_KERNELS_CONV_DOT_DOT_H_
#define DTNN_KERNELS_CONV_DOT_DOT_H_

#include "kernels/conv/kernel.h"

namespace dtnn::conv {

extern const Variant kDot;

}  // namespace dtnn::conv

#endif  // DTNN_KERNELS_CONV_DOT_DOT_H_
