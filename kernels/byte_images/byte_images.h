// Images as a data set holds them, bytes, to the values that a network reads: changed, converted,
// normalised and put into its format, in one pass.
//
//   y[n, c, h, w] = values[c, bytes[n, c, changed place of (h, w)]]
//
// A byte has 256 values, so its results are a table per channel, which the maker of the spec has
// computed. Nothing is computed here that could round in another way: the same table gives the
// same bits on every device.

#ifndef DTNN_KERNELS_BYTE_IMAGES_BYTE_IMAGES_H_
#define DTNN_KERNELS_BYTE_IMAGES_BYTE_IMAGES_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/byte_images/pixel_change.h"
#include "kernels/device/context.h"
#include "tensor/format.h"
#include "tensor/tensor.h"

namespace dtnn {

struct ByteImagesSpec {
  ImageExtents sample = {};
  TensorFormat from = TensorFormat::kNHWC, to = TensorFormat::kNHWC;  // of the bytes, the values
  int64_t changes = 0;  // of each image, one after the other
  Tensor values = {};   // on the host, float32 or float64, (channels, 256), dense

  // The tensors for n images: bytes and values, and changes, PixelChange by PixelChange.
  Shape bytes_shape(int64_t n) const { return SampleShape(sample, from).Prepend(n); }
  Shape values_shape(int64_t n) const { return SampleShape(sample, to).Prepend(n); }
  Shape changes_shape(int64_t n) const { return Shape{n, changes * kNumbersOfChange}; }
};

class ByteImages {
 public:
  virtual ~ByteImages() = default;
  // All dense, on the context's device, for any number of images: bytes uint8, changes int32 (not
  // looked at where the spec has none), y of the dtype of Create.
  virtual absl::Status Run(const Tensor& bytes, const Tensor& changes, const Tensor& y) = 0;
};

// `dtype`: that of the table, or, on a GPU, 16 bits, to which a float32 table is rounded.
// InvalidArgument for anything else, for sides beyond 2^30, and where an image has more elements
// than 64 bits count.
absl::StatusOr<std::unique_ptr<ByteImages>> CreateByteImages(DeviceContext& context,
                                                             const ByteImagesSpec& spec,
                                                             DType dtype);

}  // namespace dtnn

#endif  // DTNN_KERNELS_BYTE_IMAGES_BYTE_IMAGES_H_
