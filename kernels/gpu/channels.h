// Passes over the channels of an activation on a GPU: where the elements of a channel lie.

#ifndef DTNN_KERNELS_GPU_CHANNELS_H_
#define DTNN_KERNELS_GPU_CHANNELS_H_

#include <cstdint>
#include <type_traits>

#include "tensor/gpu/vectors.h"
#include "tensor/tensor.h"

namespace dtnn {

// An activation as (outer, channels, inner): images of planes (NCHW), or rows of channels with
// inner = 1.
struct ChannelLayout {
  int64_t outer, channels, inner;

  // The layout of a matrix, or of images with elements.
  static ChannelLayout Of(const Tensor& x, int64_t channels, TensorFormat format) {
    const Shape& shape = x.shape();
    if (shape.rank() == 4 && format == TensorFormat::kNCHW) {
      return {shape[0], shape[1], shape[2] * shape[3]};
    }
    return {x.num_elements() / channels, channels, 1};
  }
  // Elements from one outer row of x to the next.
  int64_t PitchOf(const Tensor& x) const { return x.dense() ? row() : x.RowPitch(); }

  int64_t row() const { return channels * inner; }
  int64_t positions() const { return outer * inner; }  // elements of a channel
  bool planes() const { return inner != 1; }
  gpu::VectorExtents extents() const {
    return planes() ? gpu::VectorExtents::Planes(outer, channels, inner)
                    : gpu::VectorExtents::Rows(outer, channels);
  }
  // A view of a tensor whose outer rows are `pitch` apart.
  template <typename T, int kLanes>
  gpu::VectorView<T, kLanes> ViewOf(const Tensor& x) const {
    return {x.data<std::remove_const_t<T>>(), PitchOf(x), planes() ? inner : 0};
  }
};

// use.template operator()<kLanes>(), for a pass over activations of one shape.
template <typename T, class Use>
absl::Status WithChannelVectors(const ChannelLayout& layout,
                                std::initializer_list<const Tensor*> tensors, const Use& use) {
  bool full = layout.extents().columns % gpu::kFullVector<T> == 0;
  for (const Tensor* tensor : tensors) {
    full = full &&
           gpu::AllowsFullVectors<T>(tensor->raw_data(), layout.outer, layout.PitchOf(*tensor));
  }
  return full ? use.template operator()<gpu::kFullVector<T>>() : use.template operator()<1>();
}

// The channels of a vector: neighbours in rows, one in planes.
template <int kLanes>
struct VectorChannels {
  int64_t first;
  bool same;

  VectorChannels() = default;
  DTNN_HOST_DEVICE VectorChannels(bool planes, const gpu::VectorCell& cell)
      : first(planes ? cell.group : int64_t(cell.column) * kLanes), same(planes) {}
  DTNN_HOST_DEVICE int64_t At(int lane) const { return same ? first : first + lane; }
};

}  // namespace dtnn

#endif  // DTNN_KERNELS_GPU_CHANNELS_H_
