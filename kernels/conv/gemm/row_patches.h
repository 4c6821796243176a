// Few channels, as those of first layers: rows of patches instead of pixels.
//
// With the channels of a pixel side by side, the taps of one row of the kernel are one run of
// (kernel width * channels) neighbours. Images are copied, a few at a time, into rows with their
// padding; there a convolution over `channels` with a kernel of kh x kw is one over kw * channels
// with a kernel of kh x 1, whose pixels overlap: a step of the stride, not of the channels. The
// kernels of gemm run it as any other, without a patch ever being copied together. The copy also
// takes care of the format.

#ifndef DTNN_KERNELS_CONV_GEMM_ROW_PATCHES_H_
#define DTNN_KERNELS_CONV_GEMM_ROW_PATCHES_H_

#include <memory>

#include "kernels/conv/kernel.h"

namespace dtnn::conv::gemm {

// Whether rows of patches pay for y and the gradient of the filter.
bool SuitsRowPatches(const Conv2dSpec& spec);

template <typename T>
std::unique_ptr<DataKernel<T>> MakeRowPatchesForward(const Conv2dSpec& spec);
template <typename T>
std::unique_ptr<FilterKernel<T>> MakeRowPatchesFilter(const Conv2dSpec& spec);

}  // namespace dtnn::conv::gemm

#endif  // DTNN_KERNELS_CONV_GEMM_ROW_PATCHES_H_
