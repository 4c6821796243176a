#include "data/images/resize.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "data/images/image_limits.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

// Sums are in float32 for bytes, whose weights need no more, else in the values' own type.
template <typename T>
using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;

// For every place along an axis of the result, the places of the source that it is made of.
template <typename S>
struct Taps {
  std::vector<int64_t> begins;
  std::vector<int64_t> counts;
  std::vector<S> weights;  // `most` for every place
  int64_t most = 0;

  void Make(int64_t from, int64_t to) {
    const double scale = double(from) / double(to);
    const double reach = std::max(scale, 1.0);
    most = int64_t(std::ceil(reach)) * 2 + 1;
    begins.resize(to);
    counts.resize(to);
    weights.resize(to * most);
    for (int64_t place = 0; place < to; ++place) {
      const double middle = (double(place) + 0.5) * scale;
      const int64_t begin = std::max<int64_t>(0, int64_t(std::floor(middle - reach + 0.5)));
      const int64_t end = std::min(from, int64_t(std::floor(middle + reach + 0.5)));
      const auto weight = [&](int64_t i) {
        return std::max(0.0, 1 - std::abs(double(i) + 0.5 - middle) / reach);
      };
      double sum = 0;
      for (int64_t i = begin; i < end; ++i) sum += weight(i);
      begins[place] = begin;
      counts[place] = end - begin;
      for (int64_t i = begin; i < end; ++i) {
        weights[place * most + i - begin] = S(weight(i) / sum);
      }
    }
  }
};

template <typename T, typename S>
T Rounded(S value) {
  if constexpr (std::is_same_v<T, uint8_t>) {
    return T(std::clamp(value + S(0.5), S(0), S(255)));
  } else {
    return value;
  }
}

// The weighted sum of `count` rows of `length` elements that begin `pitch` elements apart.
template <typename T, typename S>
void SumRows(const T* rows, int64_t pitch, const S* weights, int64_t count, int64_t length, S* to) {
  constexpr int64_t kBlock = 16;  // elements whose sums stay in registers
  int64_t x = 0;
  for (; x + kBlock <= length; x += kBlock) {
    S sums[kBlock] = {};
    for (int64_t i = 0; i < count; ++i) {
      const T* row = rows + i * pitch + x;
      for (int64_t j = 0; j < kBlock; ++j) sums[j] += weights[i] * S(row[j]);
    }
    for (int64_t j = 0; j < kBlock; ++j) to[x + j] = sums[j];
  }
  for (; x < length; ++x) {
    S sum = 0;
    for (int64_t i = 0; i < count; ++i) sum += weights[i] * S(rows[i * pitch + x]);
    to[x] = sum;
  }
}

// One row of pixels of C channels (0: `channels`). Three are summed as the vector of four that
// begins with them, so there is an element behind the row.
template <int C, typename T, typename S>
void ResizeRow(const S* from, const Taps<S>& taps, int64_t channels, T* to) {
  const int64_t stride = C > 0 ? C : channels;
  for (size_t x = 0; x < taps.begins.size(); ++x, to += stride) {
    const S* pixel = from + taps.begins[x] * stride;
    const S* weights = taps.weights.data() + int64_t(x) * taps.most;
    if constexpr (C > 0) {
      constexpr int kLanes = C == 3 ? 4 : C;
      S sums[kLanes] = {};
      for (int64_t i = 0; i < taps.counts[x]; ++i) {
        for (int c = 0; c < kLanes; ++c) sums[c] += weights[i] * pixel[i * C + c];
      }
      for (int c = 0; c < C; ++c) to[c] = Rounded<T>(sums[c]);
    } else {
      for (int64_t c = 0; c < stride; ++c) {
        S sum = 0;
        for (int64_t i = 0; i < taps.counts[x]; ++i) sum += weights[i] * pixel[i * stride + c];
        to[c] = Rounded<T>(sum);
      }
    }
  }
}

// `rows` rows of `width` pixels, `pitch` elements apart.
template <typename T>
struct Source {
  const T* data;
  int64_t rows, width, pitch, channels;
};

// Down first: whole rows are summed at once, and only rows of the result go across.
template <typename T>
void Resize(const Source<T>& from, int64_t height, int64_t width, T* to) {
  using S = Sum<T>;
  thread_local Taps<S> across, down;
  thread_local std::vector<S> row;
  across.Make(from.width, width);
  down.Make(from.rows, height);
  row.resize(size_t(from.width * from.channels + 1));
  const auto resize_row = from.channels == 1   ? ResizeRow<1, T, S>
                          : from.channels == 3 ? ResizeRow<3, T, S>
                                               : ResizeRow<0, T, S>;
  for (int64_t y = 0; y < height; ++y) {
    SumRows(from.data + down.begins[y] * from.pitch, from.pitch,
            down.weights.data() + y * down.most, down.counts[y], from.width * from.channels,
            row.data());
    resize_row(row.data(), across, from.channels, to + y * width * from.channels);
  }
  // Not for ever in every thread what one image of a million needed.
  constexpr size_t kKept = size_t{1} << 20;
  if (row.capacity() > kKept) row = std::vector<S>();
  if (across.weights.capacity() > kKept) across = {};
  if (down.weights.capacity() > kKept) down = {};
}

template <typename T>
void CropAndResize(std::span<const T> from, const ImageExtents& extents, TensorFormat format,
                   const Window& window, int64_t height, int64_t width, std::span<T> to) {
  assert(window.top >= 0 && window.height > 0 && window.top + window.height <= extents.height);
  assert(window.left >= 0 && window.width > 0 && window.left + window.width <= extents.width);
  assert(int64_t(from.size()) == extents.height * extents.width * extents.channels);
  assert(int64_t(to.size()) == height * width * extents.channels);
  const bool planes = format == TensorFormat::kNCHW;
  const int64_t channels = planes ? 1 : extents.channels;
  const int64_t pitch = extents.width * channels;
  const int64_t length = width * channels;
  for (int64_t plane = 0; plane < (planes ? extents.channels : 1); ++plane) {
    const T* data =
        from.data() + plane * extents.height * pitch + window.top * pitch + window.left * channels;
    T* result = to.data() + plane * height * length;
    if (window.height == height && window.width == width) {
      for (int64_t y = 0; y < height; ++y) {
        std::copy_n(data + y * pitch, length, result + y * length);
      }
    } else {
      Resize<T>({data, window.height, window.width, pitch, channels}, height, width, result);
    }
  }
}

template <typename T>
void CropAndPick(std::span<const T> from, const ImageExtents& extents, const Window& window,
                 int64_t height, int64_t width, std::span<T> to) {
  assert(window.top >= 0 && window.height > 0 && window.top + window.height <= extents.height);
  assert(window.left >= 0 && window.width > 0 && window.left + window.width <= extents.width);
  assert(extents.channels == 1 && int64_t(from.size()) == extents.height * extents.width);
  assert(int64_t(to.size()) == height * width);
  // floor((place + 0.5) * from / to), without rounding.
  const auto source = [](int64_t place, int64_t side, int64_t wanted) {
    return (2 * place + 1) * side / (2 * wanted);
  };
  for (int64_t y = 0; y < height; ++y) {
    const T* row =
        from.data() + (window.top + source(y, window.height, height)) * extents.width + window.left;
    for (int64_t x = 0; x < width; ++x) to[y * width + x] = row[source(x, window.width, width)];
  }
}

}  // namespace

absl::Status CheckGeometry(const Geometry& geometry) {
  if (!(geometry.crop > 0 && geometry.crop <= 1)) {
    return InvalidArgument("the fraction that a central crop keeps must be in (0, 1], not ",
                           geometry.crop);
  }
  if (geometry.resize < 0 || geometry.resize > kMaxImageSide) {
    return InvalidArgument("the side after a resize must be 1 to ", kMaxImageSide, ", not ",
                           geometry.resize);
  }
  return absl::OkStatus();
}

int64_t ShortestSide(const Geometry& geometry, int64_t side) {
  const double wanted = std::ceil(2 * double(side) / geometry.crop);
  return int64_t(std::min(wanted, double(kMaxImageSide)));
}

ImageExtents ExtentsAfter(const Geometry& geometry, const ImageExtents& extents) {
  const Window window = CentralCrop(geometry, extents);
  if (geometry.resize > 0) return {geometry.resize, geometry.resize, extents.channels};
  return {window.height, window.width, extents.channels};
}

Window CentralCrop(const Geometry& geometry, const ImageExtents& extents) {
  Window window = {0, 0, extents.height, extents.width};
  if (geometry.square) {
    const int64_t side = std::min(extents.height, extents.width);
    window = {(extents.height - side) / 2, (extents.width - side) / 2, side, side};
  }
  const auto gone = [&](int64_t side) {
    return std::clamp<int64_t>(std::llround(double(side) * (1 - geometry.crop) / 2), 0,
                               (side - 1) / 2);
  };
  const int64_t top = gone(window.height), left = gone(window.width);
  return {window.top + top, window.left + left, window.height - 2 * top, window.width - 2 * left};
}

void ResizeBilinear(std::span<const uint8_t> from, const ImageExtents& extents, TensorFormat format,
                    const Window& window, int64_t height, int64_t width, std::span<uint8_t> to) {
  CropAndResize(from, extents, format, window, height, width, to);
}

void ResizeBilinear(std::span<const float> from, const ImageExtents& extents, TensorFormat format,
                    const Window& window, int64_t height, int64_t width, std::span<float> to) {
  CropAndResize(from, extents, format, window, height, width, to);
}

void ResizeBilinear(std::span<const double> from, const ImageExtents& extents, TensorFormat format,
                    const Window& window, int64_t height, int64_t width, std::span<double> to) {
  CropAndResize(from, extents, format, window, height, width, to);
}

void ResizeNearest(std::span<const uint8_t> from, const ImageExtents& extents, const Window& window,
                   int64_t height, int64_t width, std::span<uint8_t> to) {
  CropAndPick(from, extents, window, height, width, to);
}

void ResizeNearest(std::span<const int32_t> from, const ImageExtents& extents, const Window& window,
                   int64_t height, int64_t width, std::span<int32_t> to) {
  CropAndPick(from, extents, window, height, width, to);
}

}  // namespace dtnn
