// What CPUs and GPUs do for each group of channels of a pixel, and what both check before it.

#ifndef DTNN_KERNELS_CHANNEL_SOFTMAX_BODIES_H_
#define DTNN_KERNELS_CHANNEL_SOFTMAX_BODIES_H_

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include "absl/status/status.h"
#include "kernels/channel_softmax/channel_softmax.h"
#include "kernels/gpu/images.h"
#include "kernels/operands/operand.h"
#include "tensor/errors.h"

namespace dtnn {

// Images of one shape, with the channels of the spec: inputs (x, dx), and results (y, dy).
inline absl::Status CheckChannelSoftmax(const ChannelSoftmaxSpec& spec, Device device,
                                        std::initializer_list<const Tensor*> inputs,
                                        std::initializer_list<const Tensor*> results) {
  constexpr std::string_view kName = "channel softmax";
  const Shape& shape = (*results.begin())->shape();
  const auto check = [&](const Tensor& image, DType dtype) {
    return CheckOperand(kName, "an operand", image, device, dtype, shape, Pitch::kAllowed);
  };
  for (const Tensor* input : inputs) DTNN_RETURN_IF_ERROR(check(*input, spec.dtype));
  for (const Tensor* result : results) DTNN_RETURN_IF_ERROR(check(*result, spec.result_dtype()));
  if (shape.rank() == 4 && ExtentsOf(shape.DropFirst(), spec.format).channels == spec.channels) {
    return absl::OkStatus();
  }
  return InvalidArgument(kName, ": shape ", shape.ToString(), ", expected images of ",
                         spec.channels, " channels");
}

// Groups of channels of pixels, numbered as they lie: `i` is one of size().
struct ChannelGroups {
  ImageGrid grid;
  int64_t groups;

  DTNN_HOST_DEVICE int64_t size() const { return grid.images * grid.height * grid.width * groups; }
  DTNN_HOST_DEVICE int64_t channels() const { return grid.channels / groups; }
  // The first channel of the group.
  template <typename T>
  DTNN_HOST_DEVICE T* Begin(const ImageView<T>& view, int64_t i) const {
    const int64_t pixels = grid.height * grid.width;
    int64_t pixel, group;
    if (grid.channels_last) {
      group = i % groups, i /= groups;
      pixel = i % pixels, i /= pixels;
    } else {
      pixel = i % pixels, i /= pixels;
      group = i % groups, i /= groups;
    }
    return view.data + i * view.image + pixel * view.pixel + group * channels() * view.channel;
  }
};

// Elements are of type T, results of type R.
template <typename T, typename R>
struct ChannelSoftmaxForward {
  using W = Wide<T>;
  ChannelGroups groups;
  ImageView<const T> x;
  ImageView<R> y;

  void Declare(int64_t, gpu::Accesses& accesses) {
    x.Declare(groups.grid, accesses);
    y.Declare(groups.grid, accesses);
  }
  DTNN_HOST_DEVICE void operator()(int64_t i) const {
    const T* const from = groups.Begin(x, i);
    R* const to = groups.Begin(y, i);
    const int64_t channels = groups.channels();
    W largest = W(from[0]);
    for (int64_t c = 1; c < channels; ++c) {
      const W value = W(from[c * x.channel]);
      largest = largest < value ? value : largest;
    }
    W sum = 0;
    for (int64_t c = 0; c < channels; ++c) {
      const W e = std::exp(W(from[c * x.channel]) - largest);
      if constexpr (std::is_same_v<R, W>) to[c * y.channel] = e;
      sum += e;
    }
    const W factor = 1 / sum;
    for (int64_t c = 0; c < channels; ++c) {
      if constexpr (std::is_same_v<R, W>) {
        to[c * y.channel] *= factor;
      } else {
        to[c * y.channel] = R(std::exp(W(from[c * x.channel]) - largest) * factor);
      }
    }
  }
};

template <typename T, typename R>
struct ChannelSoftmaxBackward {
  using W = Wide<T>;
  ChannelGroups groups;
  bool accumulate;
  ImageView<const R> y, dy;
  ImageView<T> dx;

  void Declare(int64_t, gpu::Accesses& accesses) {
    y.Declare(groups.grid, accesses);
    dy.Declare(groups.grid, accesses);
    dx.Declare(groups.grid, accesses);
  }
  DTNN_HOST_DEVICE void operator()(int64_t i) const {
    const R* const p = groups.Begin(y, i);
    const R* const from = groups.Begin(dy, i);
    T* const to = groups.Begin(dx, i);
    const int64_t channels = groups.channels();
    W dot = 0;
    for (int64_t c = 0; c < channels; ++c) dot += W(p[c * y.channel]) * W(from[c * dy.channel]);
    for (int64_t c = 0; c < channels; ++c) {
      const W gradient = W(p[c * y.channel]) * (W(from[c * dy.channel]) - dot);
      T& result = to[c * dx.channel];
      result = T(accumulate ? W(result) + gradient : gradient);
    }
  }
};

// The bodies of a call with operands of type T: run(body, groups of channels).
template <typename T, class Run>
auto RunChannelSoftmax(const ChannelSoftmaxSpec& spec, const Tensor& x, const Tensor& y,
                       const Run& run) {
  const ChannelGroups groups = {ImageGrid::Of(x.shape(), spec.format), spec.groups};
  const auto with = [&]<typename R>(R) {
    return run(ChannelSoftmaxForward<T, R>{groups, ImageView<const T>::Of(x, spec.format),
                                           ImageView<R>::Of(y, spec.format)},
               groups);
  };
  return spec.narrow_result ? with(T{}) : with(Wide<T>{});
}
template <typename T, class Run>
auto RunChannelSoftmaxBackward(const ChannelSoftmaxSpec& spec, const Tensor& y, const Tensor& dy,
                               const Tensor& dx, bool accumulate, const Run& run) {
  const ChannelGroups groups = {ImageGrid::Of(y.shape(), spec.format), spec.groups};
  const auto with = [&]<typename R>(R) {
    return run(
        ChannelSoftmaxBackward<T, R>{groups, accumulate, ImageView<const R>::Of(y, spec.format),
                                     ImageView<const R>::Of(dy, spec.format),
                                     ImageView<T>::Of(dx, spec.format)},
        groups);
  };
  return spec.narrow_result ? with(T{}) : with(Wide<T>{});
}

}  // namespace dtnn

#endif  // DTNN_KERNELS_CHANNEL_SOFTMAX_BODIES_H_
