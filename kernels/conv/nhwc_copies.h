// NCHW images for kernels that want the channels of a pixel side by side: a kernel around another,
// which copies a few images at a time into NHWC order and back, as many as the last cache holds.

#ifndef DTNN_KERNELS_CONV_NHWC_COPIES_H_
#define DTNN_KERNELS_CONV_NHWC_COPIES_H_

#include <memory>

#include "kernels/conv/kernel.h"

namespace dtnn::conv {

// The spec of the kernel within: NHWC, and the batch that is copied at a time.
Conv2dSpec NhwcSpec(const Conv2dSpec& nchw);

// `kernel` was made for NhwcSpec(spec).
template <typename T>
std::unique_ptr<DataKernel<T>> WithNhwcCopies(const Conv2dSpec& spec, Direction direction,
                                              std::unique_ptr<DataKernel<T>> kernel);
template <typename T>
std::unique_ptr<FilterKernel<T>> WithNhwcCopies(const Conv2dSpec& spec,
                                                std::unique_ptr<FilterKernel<T>> kernel);

}  // namespace dtnn::conv

#endif  // DTNN_KERNELS_CONV_NHWC_COPIES_H_
