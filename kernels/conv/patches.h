// The patch matrix of a convolution without the matrix: which input pixel each output pixel reads
// at each tap of the kernel.
//
// Both directions of a convolution gather: y collects pixels of x, and dx collects pixels of dy
// (the transposed convolution, whose taps fall between the pixels of dy when the stride is > 1).
// One axis of either is a TapMap; a kernel that multiplies need not know which it runs.

#ifndef DTNN_KERNELS_CONV_PATCHES_H_
#define DTNN_KERNELS_CONV_PATCHES_H_

#include <cstdint>
#include <vector>

#include "kernels/conv/conv2d_spec.h"
#include "kernels/conv/direction.h"
#include "kernels/conv/images.h"

namespace dtnn::conv {

// Along one axis: for each output coordinate and tap the input coordinate, or -1 for padding.
class TapMap {
 public:
  // i = o * stride - padding + k * dilation, for the `outputs` coordinates o of the output.
  static TapMap Forward(int64_t inputs, int64_t outputs, int64_t taps, int64_t stride,
                        int64_t padding, int64_t dilation);
  // The same relation read backwards: gathers o for each i.
  static TapMap Backward(int64_t inputs, int64_t outputs, int64_t taps, int64_t stride,
                         int64_t padding, int64_t dilation);

  int64_t taps() const { return taps_; }
  // The taps of one gathering coordinate.
  const int32_t* of(int64_t coordinate) const { return index_.data() + coordinate * taps_; }

 private:
  TapMap(int64_t coordinates, int64_t taps) : taps_(taps), index_(size_t(coordinates * taps)) {}

  int64_t taps_;
  std::vector<int32_t> index_;
};

// One direction of a convolution as a gather: every output pixel sums, over the taps, a vector of
// `depth` channels of an input pixel times a (depth x columns) matrix.
struct Gather {
  TapMap vertical, horizontal;
  int64_t in_height, in_width, depth;
  int64_t out_height, out_width, columns;

  static Gather Of(const Conv2dSpec& spec, Direction direction);
  static Gather Forward(const Conv2dSpec& spec);
  static Gather BackwardData(const Conv2dSpec& spec);

  int64_t taps() const { return vertical.taps() * horizontal.taps(); }
  int64_t patch() const { return taps() * depth; }  // elements of a patch
  int64_t in_pixels() const { return in_height * in_width; }
  int64_t out_pixels() const { return out_height * out_width; }
};

// The pixels of all images of an activation in NHWC order: the first element, and elements from one
// pixel to the next.
template <typename T>
struct Pixels {
  T* data = nullptr;
  int64_t pitch = 0;

  static Pixels Of(const Images<T>& images) { return {images.data, images.pixel}; }
};

// Writes the patch of output pixel (row, column) of an image, whose channels are neighbours, to
// `patch`: taps x depth elements.
template <typename T>
void CopyPatch(const Gather& gather, const Images<const T>& in, int64_t image, int64_t row,
               int64_t column, T* patch);

}  // namespace dtnn::conv

#endif  // DTNN_KERNELS_CONV_PATCHES_H_
