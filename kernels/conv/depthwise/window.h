// A block of channels of some rows and columns of images, side by side in memory of its own: a copy
// that has zeros where it reaches over the edge of an image, whatever the pitch of the images is.

#ifndef DTNN_KERNELS_CONV_DEPTHWISE_WINDOW_H_
#define DTNN_KERNELS_CONV_DEPTHWISE_WINDOW_H_

#include <cstdint>

#include "kernels/conv/depthwise/axis.h"
#include "kernels/conv/depthwise/depthwise_cpu.h"
#include "kernels/conv/images.h"

namespace dtnn::conv::depthwise {

// The same images from another image, row, column and channel on.
template <typename T>
Images<T> From(Images<T> images, int64_t image, int64_t row, int64_t column, int64_t channel) {
  if (images.data == nullptr) return images;
  images.data +=
      image * images.image + row * images.row + column * images.pixel + channel * images.channel;
  return images;
}

// to = from.
template <typename T>
void CopyChannels(const Counts& pixels, const Images<const T>& from, int64_t channels,
                  const Images<T>& to);

template <typename T>
class Window {
 public:
  Window(T* memory, int64_t pixels) : memory_(memory), pixels_(pixels) {}

  // Copies of `images` images of height x width, as far as they reach.
  void Fill(const Images<const T>& from, int64_t images, int64_t height, int64_t width, Range rows,
            Range columns, int64_t channels);
  // The images without anything around them; the contents are undefined.
  Images<T> Dense(int64_t rows, int64_t columns) const {
    const int64_t row = columns * kBlock<T>;
    return {memory_, rows * row, row, kBlock<T>, 1};
  }
  // What Fill made, from its first row and column on.
  Images<const T> filled() const { return Dense(rows_.size(), columns_.size()); }
  Range rows() const { return rows_; }
  Range columns() const { return columns_; }

 private:
  T* memory_;
  int64_t pixels_;
  Range rows_ = {}, columns_ = {};
};

}  // namespace dtnn::conv::depthwise

#endif  // DTNN_KERNELS_CONV_DEPTHWISE_WINDOW_H_
