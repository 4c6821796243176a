// The patch matrix of a convolution: which input pixel each output pixel reads at each tap of the
// kernel, and the rows made of it.
//
// Both directions of a convolution gather (../geometry/phases.h): y collects pixels of x, and dx
// collects pixels of dy, whose taps fall between the pixels of dy when the stride is > 1: zeros.

#ifndef DTNN_KERNELS_CONV_I2C_PATCHES_H_
#define DTNN_KERNELS_CONV_I2C_PATCHES_H_

#include <cstdint>
#include <vector>

#include "kernels/conv/conv2d_spec.h"
#include "kernels/conv/direction.h"
#include "kernels/conv/geometry/phases.h"
#include "kernels/conv/images.h"

namespace dtnn::conv::i2c {

// Along one axis of `taps` taps: for each output coordinate and tap the input coordinate, or -1
// where the tap meets no input.
class TapMap {
 public:
  TapMap(const std::vector<Phase>& phases, int64_t outputs, int64_t taps);

  int64_t inputs() const { return inputs_; }
  int64_t outputs() const { return int64_t(index_.size()) / taps_; }
  int64_t taps() const { return taps_; }
  // The taps of one output coordinate.
  const int32_t* of(int64_t output) const { return index_.data() + output * taps_; }

 private:
  int64_t inputs_, taps_;
  std::vector<int32_t> index_;
};

// One direction of a convolution as a gather: every output pixel sums, over the taps, a vector of
// `depth` channels of an input pixel times a (depth x out_channels) matrix.
struct Gather {
  TapMap vertical, horizontal;
  int64_t depth, out_channels;

  static Gather Of(const Conv2dSpec& spec, Direction direction);

  int64_t taps() const { return vertical.taps() * horizontal.taps(); }
  int64_t patch() const { return taps() * depth; }  // elements of a patch
  int64_t out_width() const { return horizontal.outputs(); }
  int64_t out_pixels() const { return vertical.outputs() * horizontal.outputs(); }
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

}  // namespace dtnn::conv::i2c

#endif  // DTNN_KERNELS_CONV_I2C_PATCHES_H_
