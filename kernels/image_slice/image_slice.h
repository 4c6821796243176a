// Some rows and columns of images: a crop, every second pixel, or both, as x[r:s:2, c:d:2] of NumPy
// takes them.
//
//   forward   y[h, w] = x[begin.vertical + h * step.vertical, begin.horizontal + w *
//             step.horizontal],  0 <= h < count.vertical, 0 <= w < count.horizontal
//   backward  dx = (accumulate ? dx : 0) + dy where the pixel stands in y, 0 at other pixels
//
// (n, height, width, channels), or with channels second in NCHW; x and y, or dy and dx, may be
// pitched and do not overlap. Elements are copied bit for bit; sums of 16 bits are made in float32
// and rounded once.

#ifndef DTNN_KERNELS_IMAGE_SLICE_IMAGE_SLICE_H_
#define DTNN_KERNELS_IMAGE_SLICE_IMAGE_SLICE_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/context.h"
#include "kernels/operands/pair.h"
#include "tensor/format.h"
#include "tensor/tensor.h"

namespace dtnn {

struct ImageSliceSpec {
  ImageExtents image;  // of x
  Pair begin = {0, 0};
  Pair count = {1, 1};
  Pair step = {1, 1};
  TensorFormat format = TensorFormat::kNHWC;
  DType dtype = DType::kFloat32;

  ImageExtents output() const { return {count.vertical, count.horizontal, image.channels}; }
};

class ImageSlice {
 public:
  virtual ~ImageSlice() = default;
  virtual absl::Status Forward(const Tensor& x, const Tensor& y) = 0;
  virtual absl::Status Backward(const Tensor& dy, const Tensor& dx, bool accumulate) = 0;
};

// InvalidArgument for images without elements, for no pixels, steps below 1, pixels that the image
// does not have, and types that the device does not compute with.
absl::Status CheckImageSlice(const ImageSliceSpec& spec);
absl::StatusOr<std::unique_ptr<ImageSlice>> CreateImageSlice(DeviceContext& context,
                                                             const ImageSliceSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_IMAGE_SLICE_IMAGE_SLICE_H_
