// Convolutions of hard sizes, in NHWC and float32: the tests of kernels run each in all formats and
// types.

#ifndef DTNN_KERNELS_CONV_TESTING_HARD_SPECS_H_
#define DTNN_KERNELS_CONV_TESTING_HARD_SPECS_H_

#include <cstdint>
#include <vector>

#include "kernels/conv/conv2d_spec.h"

namespace dtnn::testing {

inline std::vector<Conv2dSpec> HardConv2dSpecs() {
  const auto spec = [](int64_t n, int64_t h, int64_t w, int64_t c, int64_t f, Pair kernel,
                       Pair stride, Pair padding, Pair dilation) {
    Conv2dSpec s;
    s.batch = n, s.height = h, s.width = w, s.channels = c, s.filters = f;
    s.kernel = kernel, s.stride = stride, s.padding = padding, s.dilation = dilation;
    return s;
  };
  const auto grouped = [](Conv2dSpec s, int64_t groups) {
    s.groups = groups;
    return s;
  };
  const auto depthwise = [&](int64_t n, int64_t h, int64_t w, int64_t c, Pair kernel, Pair stride,
                             Pair padding, Pair dilation = 1) {
    return grouped(spec(n, h, w, c, c, kernel, stride, padding, dilation), c);
  };
  const auto other_filter_format = [](Conv2dSpec s) {
    s.filter_format = TensorFormat::kNCHW;
    return s;
  };
  return {
      spec(1, 1, 1, 1, 1, 1, 1, 0, 1),
      spec(2, 5, 7, 1, 4, 3, 1, 1, 1),  // the first layer of a small network
      spec(5, 9, 8, 4, 8, 3, 1, 1, 1),
      spec(5, 28, 28, 4, 8, 3, 1, 1, 1),
      spec(3, 28, 28, 1, 4, 3, 1, 1, 1),
      spec(2, 13, 11, 3, 33, 3, 1, 1, 1),
      spec(1, 8, 33, 3, 16, 3, 1, 1, 1),
      spec(13, 2, 2, 17, 33, 3, 1, 1, 1),  // more border than map; tiles across images
      spec(30, 1, 1, 8, 5, 3, 1, 1, 1),
      spec(5, 7, 7, 33, 17, 1, 1, 0, 1),
      spec(2, 7, 5, 5, 3, 1, 2, 0, 1),  // stride > kernel
      spec(2, 7, 9, 8, 2, 1, Pair(3, 2), 0, 1),
      spec(2, 8, 7, 2, 5, 2, 1, 0, 1),
      spec(1, 11, 10, 3, 8, 5, 1, 2, 1),
      spec(2, 6, 5, 17, 8, 5, 2, 3, 1),
      spec(11, 4, 4, 17, 33, 5, 1, 2, 1),
      spec(3, 2, 2, 9, 8, 5, 1, 2, 1),
      spec(7, 6, 12, 8, 18, 3, 1, 1, 1),  // tiles of 6 x 6
      spec(2, 3, 3, 9, 4, 5, 1, 3, 1),    // padding larger than the map
      spec(1, 2, 2, 8, 8, 3, 1, 5, 1),    // whole patches of padding
      spec(2, 9, 11, 8, 9, Pair(1, 7), 1, Pair(0, 3), 1),
      spec(2, 11, 9, 4, 17, Pair(7, 1), 1, Pair(3, 0), 1),
      spec(1, 9, 9, 3, 4, Pair(7, 1), Pair(2, 3), Pair(3, 1), 1),
      spec(2, 9, 8, 8, 5, 3, 2, 1, 1),
      spec(5, 11, 13, 17, 2, 3, 3, 0, 1),
      spec(2, 13, 12, 5, 8, 3, 1, 2, 2),  // dilation
      spec(1, 13, 13, 33, 9, 3, 2, 3, 3),
      spec(1, 15, 17, 18, 33, 3, 1, 6, 6),  // of a few neighbours that have the same taps
      spec(2, 9, 20, 5, 6, 3, 1, 7, 7),
      spec(2, 11, 10, 9, 17, Pair(2, 5), Pair(3, 1), Pair(4, 6), Pair(5, 3)),
      spec(1, 9, 10, 5, 7, 2, 5, 1, 1),  // phases without taps
      spec(2, 7, 13, 2, 3, Pair(3, 2), Pair(1, 2), Pair(2, 1), Pair(2, 3)),
      spec(1, 12, 12, 8, 8, 2, 3, 0, 2),
      spec(1, 1, 13, 33, 33, Pair(1, 3), 1, Pair(0, 1), 1),
      spec(2, 10, 9, 1, 1, 3, 1, 1, 1),
      spec(2, 9, 10, 16, 31, 3, 1, 1, 1),
      spec(2, 9, 10, 7, 32, 3, 1, 1, 1),
      spec(1, 17, 18, 12, 65, 3, 1, 1, 1),
      spec(2, 30, 31, 2, 12, 3, 1, Pair(1, 0), 1),
      spec(37, 5, 9, 2, 5, 3, 1, 1, 1),  // several strips in each partial sum
      grouped(spec(2, 7, 6, 6, 9, 3, 1, 1, 1), 3),
      grouped(spec(3, 9, 10, 34, 36, 3, 2, 1, 1), 2),
      grouped(spec(2, 6, 11, 5, 5, 3, 1, 1, 1), 5),
      other_filter_format(spec(2, 6, 7, 5, 18, 3, 1, 1, 1)),
      other_filter_format(spec(2, 9, 10, 4, 6, Pair(3, 2), 1, 1, 1)),
      spec(1, 8, 9, 3, 5, 3, 1, 10, 1),
      depthwise(5, 1, 1, 17, 3, 1, 1),  // all but one tap lie in the padding
      depthwise(9, 2, 2, 16, 3, 1, 1),
      other_filter_format(depthwise(21, 4, 4, 32, 3, 1, 1)),  // tiles of several images
      depthwise(3, 2, 2, 9, 3, 2, 1),
      depthwise(2, 9, 10, 8, 3, 1, 1),
      other_filter_format(depthwise(1, 9, 17, 16, 3, 2, 1)),
      depthwise(2, 7, 9, 3, 1, 2, 0),           // results without taps
      depthwise(2, 7, 9, 5, 1, Pair(3, 2), 1),  // results in the padding alone
      depthwise(2, 9, 20, 33, 3, 1, 1),         // several tiles of a row
      depthwise(3, 6, 5, 40, 3, 2, 1),
      depthwise(2, 12, 13, 16, 5, 1, 2),
      depthwise(2, 11, 14, 18, 5, 2, 2),
      other_filter_format(depthwise(1, 12, 15, 7, 5, 2, 3)),
      depthwise(2, 3, 3, 8, 5, 1, 3),
      depthwise(1, 2, 2, 4, 3, 1, 5),  // whole windows of padding
      depthwise(1, 9, 12, 6, 7, 1, 3),
      depthwise(1, 11, 20, 3, Pair(1, 7), 1, Pair(0, 3)),
      depthwise(1, 20, 11, 3, Pair(7, 1), Pair(1, 3), Pair(3, 0)),
      // Wide kernels whose outer taps lie in the padding alone, so that those of a narrower one
      // are left.
      depthwise(1, 4, 3, 16, 5, 1, 1),
      depthwise(2, 9, 3, 17, 4, 2, 1),
      depthwise(1, 8, 5, 18, 7, 1, 1),
      depthwise(3, 2, 1, 16, 5, 1, 3),
      depthwise(2, 13, 14, 5, 3, 1, 2, 2),
      depthwise(1, 13, 23, 3, 3, 2, 4, 4),  // dilation against stride
      depthwise(2, 11, 12, 17, 3, 2, 2, 2),
      depthwise(2, 13, 14, 17, 3, 4, 2, 2),
      depthwise(2, 9, 11, 5, 2, 5, 1),
      depthwise(1, 14, 25, 2, Pair(4, 3), Pair(6, 4), Pair(3, 5), Pair(4, 6)),
  };
}

}  // namespace dtnn::testing

#endif  // DTNN_KERNELS_CONV_TESTING_HARD_SPECS_H_
