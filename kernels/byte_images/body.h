// What ByteImages does with a pixel, for the CPU and for GPUs.

#ifndef DTNN_KERNELS_BYTE_IMAGES_BODY_H_
#define DTNN_KERNELS_BYTE_IMAGES_BODY_H_

#include <cstdint>

#include "kernels/byte_images/byte_images.h"
#include "kernels/gpu/images.h"
#include "tensor/gpu/kernel.h"

namespace dtnn {

// A thread per pixel: its place is found once for all channels. Neighbouring threads have
// neighbouring pixels.
template <typename T>
struct ByteImagesBody {
  static constexpr int64_t kBytes = 256;

  ImageGrid pixels;  // of one channel
  int64_t channels, changes_of_image;
  ImageView<const uint8_t> bytes;
  const PixelChange* changes;
  const T* values;
  ImageView<T> y;

  // The operands have been checked; `values`: the table on the device.
  static ByteImagesBody Of(const ByteImagesSpec& spec, const Tensor& bytes, const Tensor& changes,
                           const Tensor& values, const Tensor& y) {
    const ImageExtents& sample = spec.sample;
    return {.pixels = {bytes.shape()[0], sample.height, sample.width, 1, true},
            .channels = sample.channels,
            .changes_of_image = spec.changes,
            .bytes = ImageView<const uint8_t>::Of(bytes, spec.from),
            .changes = spec.changes == 0
                           ? nullptr
                           : reinterpret_cast<const PixelChange*>(changes.data<int32_t>()),
            .values = values.data<T>(),
            .y = ImageView<T>::Of(y, spec.to)};
  }

  void Declare(int64_t n, gpu::Accesses& accesses) {
    accesses.Reads(bytes.data, n * channels);
    accesses.Reads(changes, pixels.images * changes_of_image);
    accesses.Reads(values, channels * kBytes);
    accesses.Writes(y.data, n * channels);
  }
  DTNN_HOST_DEVICE void operator()(int64_t i) const {
    const ImageCell cell = pixels(i);
    PixelPlace place = {int32_t(cell.row), int32_t(cell.column)};
    const bool shown = FindPixel(changes + cell.image * changes_of_image, changes_of_image,
                                 int32_t(pixels.height), int32_t(pixels.width), place);
    for (int64_t c = 0; c < channels; ++c) {
      const uint8_t byte = shown ? bytes.At(cell.image, place.row, place.column, c) : uint8_t{0};
      y.At(cell.image, cell.row, cell.column, c) = values[c * kBytes + byte];
    }
  }
};

}  // namespace dtnn

#endif  // DTNN_KERNELS_BYTE_IMAGES_BODY_H_
