#include "kernels/conv/depthwise/window.h"

#include <algorithm>
#include <cstring>

namespace dtnn::conv::depthwise {
namespace {

// The part of a range that lies within [0, extent), counted from the beginning of the range.
Range Inside(Range range, int64_t extent) {
  const int64_t begin = std::clamp<int64_t>(-range.begin, 0, range.size());
  return {begin, std::clamp(extent - range.begin, begin, range.size())};
}

}  // namespace

template <typename T>
void CopyChannels(const Counts& pixels, const Images<const T>& from, int64_t channels,
                  const Images<T>& to) {
  if (channels == kBlock<T>) return CpuKernels<T>().copy(pixels, from, to);
  for (int64_t i = 0; i < pixels.images; ++i) {
    for (int64_t r = 0; r < pixels.rows; ++r) {
      for (int64_t c = 0; c < pixels.columns; ++c) {
        std::copy_n(from.At(i, r) + c * from.pixel, channels, to.At(i, r) + c * to.pixel);
      }
    }
  }
}

template <typename T>
void Window<T>::Fill(const Images<const T>& from, int64_t images, int64_t height, int64_t width,
                     Range rows, Range columns, int64_t channels) {
  const Range inside_rows = Inside(rows, height), inside_columns = Inside(columns, width);
  // What lies outside is zero already where the window reached over the same edges before.
  if (rows.size() != rows_.size() || columns.size() != columns_.size() ||
      inside_rows != Inside(rows_, height) || inside_columns != Inside(columns_, width)) {
    std::memset(memory_, 0, size_t(pixels_ * kBlock<T>) * sizeof(T));
  }
  rows_ = rows, columns_ = columns;
  CopyChannels<T>(
      {images, inside_rows.size(), inside_columns.size()},
      From(from, 0, rows.begin + inside_rows.begin, columns.begin + inside_columns.begin, 0),
      channels,
      From(Dense(rows.size(), columns.size()), 0, inside_rows.begin, inside_columns.begin, 0));
}

template void CopyChannels(const Counts&, const Images<const float>&, int64_t,
                           const Images<float>&);
template void CopyChannels(const Counts&, const Images<const double>&, int64_t,
                           const Images<double>&);
template class Window<float>;
template class Window<double>;

}  // namespace dtnn::conv::depthwise
