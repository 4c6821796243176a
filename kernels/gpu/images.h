// Images of either format as the kernels of a GPU see them: extents that a pass runs over, and for
// each tensor a pointer and the steps of its axes, in elements, so that views of wider tensors are
// images too.

#ifndef DTNN_KERNELS_GPU_IMAGES_H_
#define DTNN_KERNELS_GPU_IMAGES_H_

#include <cstdint>
#include <type_traits>

#include "tensor/format.h"
#include "tensor/gpu/kernel.h"
#include "tensor/tensor.h"

namespace dtnn {

struct ImageCell {
  int64_t image, row, column, channel;
};

struct ImageGrid {
  int64_t images, height, width, channels;
  bool channels_last;  // NHWC

  static ImageGrid Of(const Shape& shape, TensorFormat format) {
    if (format == TensorFormat::kNHWC) return {shape[0], shape[1], shape[2], shape[3], true};
    return {shape[0], shape[2], shape[3], shape[1], false};
  }
  DTNN_HOST_DEVICE int64_t size() const { return images * height * width * channels; }
  // The i-th cell in the order of a dense tensor: neighbouring threads have neighbouring elements.
  DTNN_HOST_DEVICE ImageCell operator()(int64_t i) const {
    ImageCell cell;
    if (channels_last) {
      cell.channel = i % channels;
      i /= channels;
    }
    cell.column = i % width;
    i /= width;
    cell.row = i % height;
    i /= height;
    if (!channels_last) {
      cell.channel = i % channels;
      i /= channels;
    }
    cell.image = i;
    return cell;
  }
  // The inverse.
  DTNN_HOST_DEVICE int64_t IndexOf(const ImageCell& cell) const {
    if (channels_last) {
      return ((cell.image * height + cell.row) * width + cell.column) * channels + cell.channel;
    }
    return ((cell.image * channels + cell.channel) * height + cell.row) * width + cell.column;
  }
};

template <typename T>
struct ImageView {
  T* data = nullptr;
  int64_t image = 0, row = 0, pixel = 0, channel = 0;  // steps

  // Null data for a tensor without memory.
  static ImageView Of(const Tensor& tensor, TensorFormat format) {
    if (tensor.empty()) return {};
    T* data = tensor.data<std::remove_const_t<T>>();
    const Shape& shape = tensor.shape();
    if (format == TensorFormat::kNHWC) {
      const int64_t pixel = tensor.PixelPitch(), row = shape[2] * pixel;
      return {data, shape[1] * row, row, pixel, 1};
    }
    return {data, tensor.ImagePitch(), shape[3], 1, shape[2] * shape[3]};
  }

  DTNN_HOST_DEVICE T& At(int64_t n, int64_t h, int64_t w, int64_t c) const {
    return data[n * image + h * row + w * pixel + c * channel];
  }
  DTNN_HOST_DEVICE T& operator[](const ImageCell& cell) const {
    return At(cell.image, cell.row, cell.column, cell.channel);
  }
  // A pass over a whole grid: constant elements are read, others written.
  void Declare(const ImageGrid& grid, gpu::Accesses& accesses) {
    const int64_t plane = grid.height * grid.width;
    const int64_t rows = grid.channels_last ? grid.images * plane : grid.images;
    const int64_t columns = grid.channels_last ? grid.channels : grid.channels * plane;
    const int64_t pitch = grid.channels_last ? pixel : image;
    if constexpr (std::is_const_v<T>) {
      accesses.Reads(data, rows, columns, pitch);
    } else {
      accesses.Writes(data, rows, columns, pitch);
    }
  }
};

}  // namespace dtnn

#endif  // DTNN_KERNELS_GPU_IMAGES_H_
