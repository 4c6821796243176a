#include "data/images/image_bytes.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>

#include "kernels/convert/convert.h"
#include "tensor/dtype.h"

namespace dtnn {
namespace {

// Pixels at a time: three channels of that many values stay in L1.
constexpr size_t kTile = 512;

// Three tiles, one after the other, to pixels of three channels.
template <typename T>
void Interleave3(const T* from, size_t count, T* to) {
  for (size_t i = 0; i < count; ++i) {
    to[3 * i] = from[i];
    to[3 * i + 1] = from[kTile + i];
    to[3 * i + 2] = from[2 * kTile + i];
  }
}

// Pixels of several channels to channels.
template <typename T>
void Separate(std::span<const uint8_t> from, size_t channels, T scale, std::span<T> to) {
  const size_t pixels = from.size() / channels;
  std::array<uint8_t, kTile> tile;
  for (size_t begin = 0; begin < pixels; begin += kTile) {
    const size_t count = std::min(kTile, pixels - begin);
    for (size_t channel = 0; channel < channels; ++channel) {
      const uint8_t* place = from.data() + begin * channels + channel;
      for (size_t i = 0; i < count; ++i) tile[i] = place[i * channels];
      ConvertBytes({tile.data(), count}, scale, to.subspan(channel * pixels + begin, count));
    }
  }
}

// Channels to pixels of several channels.
template <typename T>
void Interleave(std::span<const uint8_t> from, size_t channels, T scale, std::span<T> to) {
  const size_t pixels = from.size() / channels;
  alignas(64) std::array<T, 3 * kTile> values;
  for (size_t begin = 0; begin < pixels; begin += kTile) {
    const size_t count = std::min(kTile, pixels - begin);
    for (size_t channel = 0; channel < channels; ++channel) {
      T* tile = values.data() + (channels == 3 ? channel * kTile : 0);
      ConvertBytes(from.subspan(channel * pixels + begin, count), scale, {tile, count});
      if (channels == 3) continue;
      T* place = to.data() + begin * channels + channel;
      for (size_t i = 0; i < count; ++i) place[i * channels] = tile[i];
    }
    if (channels == 3) Interleave3(values.data(), count, to.data() + begin * channels);
  }
}

template <typename T>
void Convert(std::span<const uint8_t> from, TensorFormat from_format, const ImageExtents& extents,
             TensorFormat format, std::span<T> to, T scale) {
  assert(int64_t(from.size()) == ByteCount(extents) && to.size() == from.size());
  const size_t channels = size_t(extents.channels);
  if (format == from_format || channels == 1) {
    ConvertBytes(from, scale, to);
  } else if (format == TensorFormat::kNCHW) {
    Separate(from, channels, scale, to);
  } else {
    Interleave(from, channels, scale, to);
  }
}

}  // namespace

void ConvertImage(std::span<const uint8_t> from, TensorFormat from_format,
                  const ImageExtents& extents, TensorFormat format, std::span<float> to,
                  float scale) {
  Convert(from, from_format, extents, format, to, scale);
}

void ConvertImage(std::span<const uint8_t> from, TensorFormat from_format,
                  const ImageExtents& extents, TensorFormat format, std::span<double> to,
                  double scale) {
  Convert(from, from_format, extents, format, to, scale);
}

void PutImage(std::span<const uint8_t> from, TensorFormat from_format, const ImageExtents& extents,
              TensorFormat format, const Tensor& x, int64_t row) {
  const size_t size = from.size(), begin = size_t(row) * size;
  if (x.dtype() == DType::kUint8) {
    assert(format == from_format || extents.channels == 1);
    std::copy_n(from.data(), size, x.data<uint8_t>() + begin);
    return;
  }
  DispatchFloating(x.dtype(), [&]<typename T>(T) {
    ConvertImage(from, from_format, extents, format, std::span(x.data<T>() + begin, size));
  });
}

}  // namespace dtnn
