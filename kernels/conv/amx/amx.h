// Convolutions of bfloat16 in tiles (kernels/amx): all directions of any spec, on CPUs with AMX.
// Sums are float32, of even and of odd channels apart; numbers that are denormal count as zero.

#ifndef DTNN_KERNELS_CONV_AMX_AMX_H_
#define DTNN_KERNELS_CONV_AMX_AMX_H_

#include "kernels/conv/kernel.h"

namespace dtnn::conv {

extern const Variant kAmx;

}  // namespace dtnn::conv

#endif  // DTNN_KERNELS_CONV_AMX_AMX_H_
