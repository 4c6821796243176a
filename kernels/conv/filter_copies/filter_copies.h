// Copies of a network's parameters in a type of 16 bits, whose filters have the order of axes that
// the device computes with.
//
// NHWC layers store a filter as (channels, kh, kw, filters). Tensor cores read NHWC images and
// filters along their channels, so cuDNN takes it as (filters, kh, kw, channels), "channels last".
// Copies are made anew after each update anyway; made in that order, they cost no more, and no call
// of a convolution has anything to reorder. Parameters and their gradients keep their order.

#ifndef DTNN_KERNELS_CONV_FILTER_COPIES_FILTER_COPIES_H_
#define DTNN_KERNELS_CONV_FILTER_COPIES_FILTER_COPIES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/cast/cast.h"
#include "kernels/device/context.h"
#include "tensor/format.h"

namespace dtnn {

// Whether copies of the filters of images in this format are channels last there: on GPUs, NHWC.
bool CopiesFiltersChannelsLast(Device device, TensorFormat format);

// A filter in an arena of parameters: (channels, taps, filters), from this element on.
struct FilterPlace {
  int64_t offset = 0, channels = 0, taps = 0, filters = 0;
};

// A cast of arenas of `size` elements that makes these filters, which do not overlap, channels
// last, and lets all else stay where it is. Without any it is CreateCast's; with some, of GPUs
// only, a single launch, which reads and writes as fast as memory.
absl::StatusOr<std::unique_ptr<Cast>> CreateFilterCopies(DeviceContext& context, DType from,
                                                         DType to, int64_t size,
                                                         std::vector<FilterPlace> filters);

}  // namespace dtnn

#endif  // DTNN_KERNELS_CONV_FILTER_COPIES_FILTER_COPIES_H_
