// The calls of a convolution that plans of cuDNN are made for. Nothing here needs cuDNN.

#ifndef DTNN_KERNELS_CONV_GPU_CUDNN_CALL_SHAPE_H_
#define DTNN_KERNELS_CONV_GPU_CUDNN_CALL_SHAPE_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/conv/conv2d_spec.h"
#include "kernels/conv/direction.h"

namespace dtnn::cudnn {

// What of a call a plan depends on, beside the spec.
struct CallShape {
  conv::Direction direction = conv::Direction::kForward;
  int64_t images = 0;
  int64_t x_pitch = 0, y_pitch = 0, addend_pitch = 0;  // from pixel to pixel or image to image
  int64_t alignment = 16;                              // of all operands, bytes
  bool accumulate = false;                             // of the backward directions

  friend auto operator<=>(const CallShape&, const CallShape&) = default;
};

// The call of dense, aligned operands.
CallShape DenseCall(const Conv2dSpec& spec, conv::Direction direction, int64_t images);

// How much workspace plans may have on a device of so much memory: faster engines than the plainest
// want it, some of a large batch in proportion to it. All convolutions of a network share one.
int64_t MostWorkspace(size_t device_memory);

// Whether a gradient of the filter is computed in the workspace, and stored or added from there:
// in cuDNN's order of axes, or in 16 bits.
bool StoresGradient(const Conv2dSpec& spec);

// The calls whose plans are made, and timed, with a primitive for these directions: of the whole
// batch, dense and aligned. A backward direction comes twice, the second time adding to what is
// there, unless that is left to the step that stores it.
std::vector<CallShape> FirstCalls(const Conv2dSpec& spec, const conv::Directions& directions);

}  // namespace dtnn::cudnn

#endif  // DTNN_KERNELS_CONV_GPU_CUDNN_CALL_SHAPE_H_
