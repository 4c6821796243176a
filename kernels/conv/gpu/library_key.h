// What a tuner remembers the algorithm of a GPU's library by, for a direction of a convolution: as
// FastestConv2dKey for the CPU's, and instead of the instruction set the kind of GPU and the
// version of the library, so that another of either is timed anew.

#ifndef DTNN_KERNELS_CONV_GPU_LIBRARY_KEY_H_
#define DTNN_KERNELS_CONV_GPU_LIBRARY_KEY_H_

#include <string_view>

#include "kernels/best_of/decisions.h"
#include "kernels/conv/conv2d_spec.h"
#include "kernels/conv/direction.h"

namespace dtnn::conv {

// `gpu`: its name, as the driver says it ("NVIDIA H100"); `library`: with its version
// ("cudnn91900"); `accumulate`: whether results are added to what is there.
BestOfKey LibraryKey(std::string_view gpu, std::string_view library, const Conv2dSpec& spec,
                     Direction direction, bool accumulate);

}  // namespace dtnn::conv

#endif  // DTNN_KERNELS_CONV_GPU_LIBRARY_KEY_H_
