// Passes over the channels of an activation on a GPU: where the elements of a channel lie, and how
// their sum is divided among threads so that it does not depend on scheduling.

#ifndef DTNN_KERNELS_CHANNELS_GPU_H_
#define DTNN_KERNELS_CHANNELS_GPU_H_

#include <cstdint>

#include "tensor/gpu/kernel.h"
#include "tensor/rounding.h"
#include "tensor/tensor.h"

namespace dtnn {

// An activation as (outer, channels, inner): images of planes (NCHW), or rows of channels with
// inner = 1.
struct ChannelLayout {
  int64_t outer, channels, inner;

  // Of a matrix, or of images with elements.
  static ChannelLayout Of(const Tensor& x, int64_t channels, TensorFormat format) {
    const Shape& shape = x.shape();
    if (shape.rank() == 4 && format == TensorFormat::kNCHW) {
      return {shape[0], shape[1], shape[2] * shape[3]};
    }
    return {x.num_elements() / channels, channels, 1};
  }
  // Elements from one outer row of x to the next.
  int64_t PitchOf(const Tensor& x) const { return x.dense() ? row() : x.RowPitch(); }

  DTNN_HOST_DEVICE int64_t row() const { return channels * inner; }
  DTNN_HOST_DEVICE int64_t positions() const { return outer * inner; }
  DTNN_HOST_DEVICE int64_t size() const { return outer * channels * inner; }
  // Where position p of channel c lies in a tensor whose outer rows are `pitch` apart.
  DTNN_HOST_DEVICE int64_t At(int64_t p, int64_t c, int64_t pitch) const {
    if (inner == 1) return p * pitch + c;
    return p / inner * pitch + c * inner + p % inner;
  }
  DTNN_HOST_DEVICE int64_t ChannelAt(int64_t in_row) const {
    return inner == 1 ? in_row : in_row / inner;
  }
};

// The sums of all channels in parts: thread (channel, part) takes the positions part, part + parts,
// ... of its channel, and writes to [part * channels + channel]. The parts are added in order.
struct ChannelParts {
  static constexpr int64_t kMost = 128;

  int64_t channels, parts;
  bool rows;  // neighbouring threads have neighbouring channels; else neighbouring positions

  // A part has at least 16 positions; the number of parts depends on nothing but the shape.
  static ChannelParts Of(const ChannelLayout& layout) {
    const int64_t wanted = CeilDiv(layout.positions(), 16);
    return {layout.channels, wanted < kMost ? wanted : kMost, layout.inner == 1};
  }

  DTNN_HOST_DEVICE int64_t threads() const { return channels * parts; }
  DTNN_HOST_DEVICE int64_t ChannelOf(int64_t thread) const {
    return rows ? thread % channels : thread / parts;
  }
  DTNN_HOST_DEVICE int64_t PartOf(int64_t thread) const {
    return rows ? thread / channels : thread % parts;
  }
  DTNN_HOST_DEVICE int64_t CountOf(int64_t part, int64_t positions) const {
    return (positions - part + parts - 1) / parts;
  }
  DTNN_HOST_DEVICE int64_t At(int64_t part, int64_t channel) const {
    return part * channels + channel;
  }
};

// to = (accumulate ? to : 0) + the sum of its parts, for each channel.
template <typename T>
struct AddPartsBody {
  ChannelParts parts;
  bool accumulate;
  const T* sums;
  T* to;

  void Declare(int64_t channels, gpu::Accesses& accesses) {
    accesses.Reads(sums, parts.threads());
    accesses.Writes(to, channels);
  }
  DTNN_HOST_DEVICE void operator()(int64_t channel) const {
    T sum = accumulate ? to[channel] : T(0);
    for (int64_t part = 0; part < parts.parts; ++part) sum += sums[parts.At(part, channel)];
    to[channel] = sum;
  }
};

}  // namespace dtnn

#endif  // DTNN_KERNELS_CHANNELS_GPU_H_
