// Convolution by Winograd's minimal filtering: 3x3 and 5x5 kernels at stride 1 with a sixth to a
// quarter of the products, for 2 to 9 times the rounding error. See form.h.

#ifndef DTNN_KERNELS_CONV_WINOGRAD_WINOGRAD_H_
#define DTNN_KERNELS_CONV_WINOGRAD_WINOGRAD_H_

#include "kernels/conv/kernel.h"

namespace dtnn::conv {

extern const Variant kWinograd;

}  // namespace dtnn::conv

#endif  // DTNN_KERNELS_CONV_WINOGRAD_WINOGRAD_H_
