// NCHW images for kernels that want the channels of a pixel side by side, and images of bfloat16
// for kernels that compute with float32: a kernel around another, which copies a few images at a
// time into NHWC order and the other type and back, as many as the last cache holds. Sums, and what
// is added to them, stay in the other type until the result is complete.

#ifndef DTNN_KERNELS_CONV_WRAP_NHWC_COPIES_H_
#define DTNN_KERNELS_CONV_WRAP_NHWC_COPIES_H_

#include <memory>

#include "kernels/conv/kernel.h"

namespace dtnn::conv {

// The spec of the kernel within: NHWC, and the batch that is copied at a time.
Conv2dSpec NhwcSpec(const Conv2dSpec& spec);

// `kernel` was made for NhwcSpec(spec) with images of U: T, or float where T is Bfloat16.
template <typename T, typename U>
std::unique_ptr<DataKernel<T>> WithNhwcCopies(const Conv2dSpec& spec, Direction direction,
                                              std::unique_ptr<DataKernel<U>> kernel);
template <typename T, typename U>
std::unique_ptr<FilterKernel<T>> WithNhwcCopies(const Conv2dSpec& spec,
                                                std::unique_ptr<FilterKernel<U>> kernel);

}  // namespace dtnn::conv

#endif  // DTNN_KERNELS_CONV_WRAP_NHWC_COPIES_H_
