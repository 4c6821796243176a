// Convolution by Winograd's minimal filtering: 3x3 kernels at stride 1 with a quarter of the
// products, for twice the rounding error. See README.md.

#ifndef DTNN_KERNELS_CONV_WINOGRAD_WINOGRAD_H_
#define DTNN_KERNELS_CONV_WINOGRAD_WINOGRAD_H_

#include "kernels/conv/kernel.h"

namespace dtnn::conv {

extern const Variant kWinograd;

}  // namespace dtnn::conv

#endif  // DTNN_KERNELS_CONV_WINOGRAD_WINOGRAD_H_
