// Convolution as a matrix product whose packing reads the images, without a patch matrix (San Juan
// et al., "High performance and portable convolution operators for multicore processors", SBAC-PAD
// 2020). Computes any spec.

#ifndef DTNN_KERNELS_CONV_GEMM_GEMM_H_
#define DTNN_KERNELS_CONV_GEMM_GEMM_H_

#include "kernels/conv/kernel.h"

namespace dtnn::conv {

extern const Variant kGemm;

}  // namespace dtnn::conv

#endif  // DTNN_KERNELS_CONV_GEMM_GEMM_H_
